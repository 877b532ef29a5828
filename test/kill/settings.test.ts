/**
 * The configuration of a running process: an edited file, and settings of the cell that survive
 * kill -9.
 */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { gatewayHttp } from '../../cli/client/gateway-http.ts';
import { inEffect } from '../../cli/doctor/doctor-running.ts';
import type { ConfigurationStatus } from '../../operations/operation.ts';
import type { SettingsChanged } from '../../protocols/settings.ts';
import { eventually } from '../runtime/eventually.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { natsServers, startNats } from '../servers/nats.ts';
import { kill, type Program, startGateway, startProgram, startWorker, TOKEN } from './program.ts';

const folder = mkdtempSync(join(tmpdir(), 'troupe-settings-'));
const running: Program[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map(kill));
  rmSync(folder, { recursive: true, force: true });
});

/** What a process has printed on stderr since this call. */
const printed = ({ child }: Program): (() => string) => {
  let text = '';
  child.stderr!.on('data', (chunk: Buffer) => (text += chunk.toString()));
  return () => text;
};

const httpOf = ({ url }: Program) => gatewayHttp({ url, token: TOKEN });
const statusOf = async (program: Program) =>
  (await httpOf(program))<ConfigurationStatus>({ method: 'GET', path: '/v1/settings' });
const set = async (program: Program, path: string, value: unknown) =>
  (await httpOf(program))<SettingsChanged>({
    method: 'POST',
    path: '/v1/settings',
    body: { path, value },
  });
const historyOf = async (program: Program) => {
  const path = '/v1/settings/history';
  const http = await httpOf(program);
  return (await http<{ versions: SettingsChanged[] }>({ method: 'GET', path })).versions;
};

describe('one process', () => {
  it('applies an edited file, ignores a wrong one, and names what needs a restart', async () => {
    const data = mkdtempSync(join(tmpdir(), 'troupe-settings-'));
    const file = join(data, 'troupe.json5');
    writeFileSync(file, '{ log: { level: "info" } }');
    const program = await startProgram(data, await reservePort());
    running.push(program);
    const log = printed(program);
    // As an editor replaces a file.
    const edit = (text: string) => {
      writeFileSync(`${file}.new`, text);
      renameSync(`${file}.new`, file);
    };
    edit('{ session: { mainKey: "home", agentToAgent: { maxHops: 3 } } }');
    await eventually(async () =>
      expect((await statusOf(program)).restartNeeded).toEqual(['session.mainKey']),
    );
    expect(log()).toContain(
      'in effect: session.agentToAgent.maxHops; restart needed: session.mainKey',
    );
    const options = { url: program.url, token: TOKEN };
    const doctor = async () => {
      for await (const { status, message } of inEffect({ home: data }, options))
        return `${status} ${message}`;
    };
    expect(await doctor()).toBe('warn restart needed: session.mainKey');
    edit('{ log: { level: "loud" }, gatway: {} }');
    await eventually(async () =>
      expect((await statusOf(program)).problems.map(({ path }) => path)).toEqual([
        'gatway',
        'log.level',
      ]),
    );
    expect(log()).toContain('the running values stay');
    expect((await statusOf(program)).restartNeeded).toEqual(['session.mainKey']);
  }, 60_000);

  it('keeps settings and their history over kill -9, and rolls back', async () => {
    const data = mkdtempSync(join(tmpdir(), 'troupe-settings-'));
    const port = await reservePort();
    let program = await startProgram(data, port);
    running.push(program);
    await set(program, 'log.level', 'warn');
    // Killed while a change is on its way: it is there completely, or not at all.
    const late = set(program, 'session.agentToAgent.maxHops', 4).catch(() => undefined);
    await kill(program);
    const acknowledged = await late;
    program = await startProgram(data, port);
    running.push(program);
    await eventually(async () =>
      expect((await statusOf(program)).cluster.values['log.level']).toBe('warn'),
    );
    const versions = await historyOf(program);
    expect(versions.at(-1)).toMatchObject({
      version: 1,
      by: 'operator',
      changes: [{ path: 'log.level', from: null, to: 'warn' }],
    });
    if (acknowledged) expect(versions).toHaveLength(2);
    await set(program, 'log.level', 'error');
    const http = await httpOf(program);
    await http({ method: 'POST', path: '/v1/settings/rollback', body: { version: 1 } });
    await eventually(async () =>
      expect((await statusOf(program)).cluster.values).toEqual({ 'log.level': 'warn' }),
    );
    // Quotas take effect at once, for work that begins afterwards.
    await set(program, 'a2a.quota.tasksMax', 100);
    await set(program, 'a2a.quota.runningMax', 2);
    await eventually(async () =>
      expect((await statusOf(program)).cluster.values).toMatchObject({
        'a2a.quota.tasksMax': 100,
        'a2a.quota.runningMax': 2,
      }),
    );
    expect((await statusOf(program)).restartNeeded).toEqual([]);
    const refused = set(program, 'gateway.auth.token', 'x');
    await expect(refused).rejects.toThrow(/cannot be set for the whole cluster/);
  }, 60_000);
});

const server = natsServers().at(-1);
describe.skipIf(!server)('a cluster', () => {
  it('applies a setting in both workers and the gateway, without a restart', async () => {
    const nats = await startNats({ path: server!.path });
    try {
      const at = (name: string) => mkdtempSync(join(tmpdir(), `troupe-settings-${name}-`));
      const workers = await Promise.all(
        ['ann', 'bob'].map((name) => startWorker(at(name), name, nats.url)),
      );
      running.push(...workers);
      const gateway = await startGateway(at('front'), await reservePort(), nats.url);
      running.push(gateway);
      const logs = [...workers, gateway].map(printed);
      const { version } = await set(gateway, 'session.agentToAgent.maxHops', 5);
      await eventually(() => {
        for (const log of logs)
          expect(log()).toContain(
            `version ${version} of the settings of the cluster; in effect: session.agentToAgent.maxHops`,
          );
      });
    } finally {
      await Promise.all(running.splice(0).map(kill));
      await nats.stop();
    }
  }, 90_000);
});
