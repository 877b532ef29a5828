/** A worker and a gateway on a real NATS server: the cases that need a broker with limits. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemoryState } from '../../../runtime/state/memory.ts';
import { createSystem, openNats, type System } from '../../../runtime/index.ts';
import { type NatsServer, natsServers, startNats } from '../../servers/nats.ts';
import { eventually } from '../eventually.ts';
import { bossType, puppetType } from '../system/puppet.ts';
import { ask, known, puppet } from './world.ts';

const servers = natsServers();

describe.skipIf(servers.length === 0)('a cell on NATS (no nats-server is installed)', () => {
  describe.each(servers)('$version', ({ path }) => {
    let server: NatsServer;
    let systems: System[];
    const alarms: string[] = [];
    const open = async (role: 'worker' | 'gateway', name: string) => {
      const ports = await openNats({
        servers: [server.url],
        env: 'main',
        shards: 4,
        state: () => new MemoryState(),
        onAlarm: (what) => alarms.push(what),
      });
      const system = await createSystem({
        ...ports,
        actors: [puppetType(), bossType()],
        env: 'main',
        onAlarm: (what) => alarms.push(what),
        cluster: { role, name, version: '0' },
      });
      systems.push(system);
      return system;
    };

    beforeEach(async () => {
      systems = [];
      server = await startNats({ path, config: 'max_payload: 65536' });
    });
    afterEach(async () => {
      await Promise.all(systems.map((system) => system.stop()));
      await server.stop();
    });

    it('carries a message of 3 MB, the transcript and its answer through a payload limit of 64 KB', async () => {
      const [, gateway] = await Promise.all([open('worker', 'a'), open('gateway', 'g')]);
      const text = 'x'.repeat(1_500_000);
      const isText = (value: unknown) => value === text;
      const event = { type: 'do', appends: [{ type: 'said', text }], answer: text };
      for (const _ of ['first', 'again']) {
        const answer = await ask(gateway, puppet('p'), event, { key: 'large' });
        expect(answer.kind === 'answered' && isText(answer.result)).toBe(true);
      }
      const [entry] = await gateway.transcripts.read(puppet('p'));
      expect(isText(entry?.entry['text'])).toBe(true);
      expect(known(gateway, puppet('p')).seen).toEqual(['do']);
      const tells = [{ to: puppet('q'), event: { type: 'do', keeps: text } }];
      await ask(gateway, puppet('p'), { type: 'do', tells });
      await eventually(() => expect(isText(known(gateway, puppet('q')).keeps)).toBe(true));
    });

    it('waits for a server that restarts, and loses no accepted message', async () => {
      const [, gateway] = await Promise.all([open('worker', 'a'), open('gateway', 'g')]);
      const accepted: number[] = [];
      let restarted = false;
      const load = (async () => {
        for (let n = 0; !restarted || accepted.at(-1)! < n - 3; n++) {
          const options = { key: `k${n}`, timeoutMs: 1_000 };
          for (;;) {
            const answer = await ask(gateway, puppet('p'), { type: 'do', n }, options);
            if (answer.kind === 'answered') break;
            await new Promise((resolve) => setTimeout(resolve, 50));
          }
          accepted.push(n);
        }
      })();
      await eventually(() => expect(accepted.length).toBeGreaterThan(10));
      await server.kill('SIGKILL');
      server = await startNats({
        path,
        folder: server.folder,
        port: server.port,
        config: 'max_payload: 65536',
      });
      const before = accepted.length;
      await eventually(() => expect(accepted.length).toBeGreaterThan(before + 10));
      restarted = true;
      await load;
      expect(known(gateway, puppet('p')).seen).toEqual(accepted.map((n) => `do:${n}`));
    });
  });
});
