import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { defined } from '../../protocols/defined.ts';
import { systemClock } from '../../runtime/clock/clock.ts';
import { openNats } from '../../runtime/cluster/open-nats.ts';
import type { Log } from '../../runtime/log/log.ts';
import { createMemoryStore } from '../../runtime/log/memory.ts';
import { eventually } from '../runtime/eventually.ts';
import { describeOnNats } from '../servers/describe-on-nats.ts';
import { type NatsServer, startNats } from '../servers/nats.ts';
import { shippedConfig } from './shipped-config.ts';

const PASSWORD = 'of-the-cell';
const SUBJECT = 'jrn.main.3';
const RECORD = Buffer.alloc(500_000, 1);
const ROOM_FOR = 20;

describeOnNats('A store of max_file_store that is full', ({ path, version }) => {
  let folder: string;
  let server: NatsServer;
  let close: () => Promise<void>;
  let log: Log;
  const start = (port?: number): Promise<NatsServer> => {
    const config = shippedConfig([], { store: folder }).replace('20GB', '10MB');
    return startNats({ path, config, ...defined({ port }) });
  };
  beforeEach(async () => {
    process.env['TROUPE_NATS_PASSWORD'] = PASSWORD;
    folder = mkdtempSync(join(tmpdir(), 'troupe-full-store-'));
    server = await start();
    const { store } = await openNats({
      servers: [server.url],
      user: 'troupe',
      pass: PASSWORD,
      env: 'main',
      shards: 4,
      state: () => createMemoryStore({ clock: systemClock, atomic: false }).state,
      onAlarm: () => {},
    });
    log = store.log;
    close = () => store.close();
  });
  afterEach(async () => {
    await close();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const fill = async (): Promise<number> => {
    for (let last = 0; last < 2 * ROOM_FOR; last++) {
      const answer = await log.append(SUBJECT, RECORD).catch(() => undefined);
      if (answer === undefined) return last;
    }
    throw new Error('it takes more than it has room for');
  };

  it('refuses new entries in every stream, and keeps all accepted ones', async () => {
    const last = await fill();
    await expect(log.append('mbx.main.3.data', Buffer.from('mail'))).rejects.toThrow('mbx');
    expect(await log.last(SUBJECT)).toBe(last);
    expect((await log.read(SUBJECT, 1, { bytesMax: 2 ** 30 })).length).toBe(last);
  });

  it('accepts entries again after a trim; 2.9 only after its next start', async () => {
    const last = await fill();
    await log.trim(SUBJECT, last - 1);
    if (version.startsWith('2.9.')) {
      await expect(log.append(SUBJECT, RECORD)).rejects.toThrow(SUBJECT);
      await server.stop();
      server = await start(server.port);
    }
    await eventually(async () =>
      expect(await log.append(SUBJECT, RECORD)).toMatchObject({ kind: 'stored' }),
    );
  });
});
