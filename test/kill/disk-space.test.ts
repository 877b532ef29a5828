/**
 * The program on a small disk that really fills: it enters read-only mode before the disk is full,
 * refuses new work, keeps what it accepted, and leaves the mode by itself when there is space.
 * Needs root, which can mount a tmpfs.
 */
import { execFileSync } from 'node:child_process';
import { rmSync, statfsSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { randomOf } from '../random.ts';
import { eventually } from '../runtime/eventually.ts';
import { account, Conversations, OWN_RUNS } from './conversations.ts';
import { TOKEN } from './program.ts';
import { TestProgram } from './test-program.ts';

const SEED = Number(process.env['TROUPE_KILL_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const MIB = 2 ** 20;
const CONFIG = `{ ${OWN_RUNS}, a2a: { enabled: true }, runtime: { disk: {
  warnPercent: 90, warnBytes: ${64 * MIB}, readOnlyPercent: 90, readOnlyBytes: ${24 * MIB} } } }`;

const mountsHere = (): boolean => process.platform === 'linux' && process.getuid?.() === 0;
const program = new TestProgram();
const filler = join(program.data, 'filler');

function mountSmallDisk(): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=160m', 'tmpfs', program.data]);
  onTestFinished(async () => {
    await program.kill();
    execFileSync('umount', [program.data]);
  });
  writeFileSync(join(program.data, 'troupe.json5'), CONFIG);
}

const freeBytes = (): number => {
  const { bavail, bsize } = statfsSync(program.data);
  return bavail * bsize;
};
/** Writes real bytes until so many are left. */
const fillUpTo = (leftBytes: number): void =>
  writeFileSync(filler, Buffer.alloc(Math.max(0, freeBytes() - leftBytes)), { flag: 'a' });
/** The program may write at the same time. */
function fillCompletely(): void {
  try {
    for (;;) fillUpTo(-MIB);
  } catch (error) {
    expect(error).toMatchObject({ code: 'ENOSPC' });
  }
}

const http = (path: string, init: RequestInit = {}) =>
  fetch(`${program.url.replace('ws:', 'http:')}${path}`, {
    ...init,
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'text/plain' },
  });
const metric = async (name: string) =>
  new RegExp(`^${name} (\\S+)$`, 'm').exec(await (await http('/metrics')).text())?.[1];

const HOLD = { kind: 'session', id: 'agent:main:kept', why: 'case 4711' };
const operate = (client: GatewayClient, name: string, params: object) =>
  client.request('operations.run', { name, params: { ...params } });
const send = (client: GatewayClient, sessionKey: string, idempotencyKey: string) =>
  client.request('chat.send', { sessionKey, message: 'Is there room?', idempotencyKey });

test.skipIf(!mountsHere())(
  `a nearly full disk makes the program read-only, and space makes it accept work again; each accepted message is answered once (seed ${SEED}; skipped where a tmpfs cannot be mounted)`,
  { timeout: 180_000 },
  async () => {
    mountSmallDisk();
    await program.start();
    const client = await program.connect();
    const conversations = new Conversations(SEED, randomOf(SEED));
    const enough = new AbortController();
    const loading = conversations.load(client, enough.signal);
    const accepted = () => conversations.sent.filter((one) => one.accepted).length;
    await eventually(() => expect(accepted()).toBeGreaterThan(10));
    await send(client, 'agent:main:old', 'old');
    await send(client, 'agent:main:erased', 'erased');

    fillUpTo(12 * MIB);
    const full = { code: 'UNAVAILABLE', details: expect.objectContaining({ reason: 'DISK_FULL' }) };
    await eventually(() =>
      // It may be accepted before the disk is measured.
      expect(send(client, 'agent:main:probe', 'n-0')).rejects.toMatchObject(full),
    );
    await expect(send(client, 'agent:main:new', 'n-1')).rejects.toThrow(/free space on it/);
    expect((await http('/v1/artifacts', { method: 'POST', body: 'a file' })).status).toBe(503);
    expect(await metric('troupe_disk_state')).toBe('2');
    const ready = (await (await http('/readyz')).json()) as { ready: boolean; disk: string };
    expect(ready).toMatchObject({ ready: true, disk: expect.stringContaining('nearly full') });
    const cluster = (await (await http('/v1/cluster')).json()) as { disks: object[] };
    expect(cluster.disks).toContainEqual(expect.objectContaining({ state: 'readOnly' }));

    // The disk is full to the last byte; then a session is read and deleted.
    fillCompletely();
    await client.request('chat.history', { sessionKey: 'agent:main:old' });
    truncateSync(filler, statSync(filler).size - 16 * MIB);
    await client.request('sessions.delete', { key: 'agent:main:old' });
    await operate(client, 'erasures.session', { id: 'agent:main:erased' });
    await operate(client, 'holds.set', HOLD);
    await operate(client, 'upgrade.finish', {});
    await expect(send(client, 'agent:main:new', 'n-2')).rejects.toMatchObject(full);

    enough.abort();
    await loading;
    rmSync(filler);
    await eventually(() => send(client, 'agent:main:new', 'n-3'));
    expect(await metric('troupe_disk_state')).toBe('0');
    await conversations.repeatUnanswered(client);
    await account(client, conversations.sent);
    const { messages } = await client.request('chat.history', { sessionKey: 'agent:main:new' });
    expect(messages.filter(({ role }) => role === 'user')).toHaveLength(1);
  },
);
