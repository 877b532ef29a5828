/**
 * Data folders of each format open in this program, made by `make.sh`; the process that wrote them
 * was killed in the middle of a run. Their keys and token were made for them and are used nowhere
 * else.
 *
 *   format-0.tar.gz  by commit 9c5dcd1: entries without a header, a store without write-ahead log
 *   format-1.tar.gz  by commit 72405951
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { connectOperator } from '../../client/operator-client.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { runProgram, startProgram } from '../cli/program.ts';
import { eventually } from '../runtime/eventually.ts';
import { address } from '../../protocols/address.ts';
import { journalSubject, mailboxSubject } from '../../protocols/subjects.ts';
import { openFileBlobs } from '../../runtime/blobs/files.ts';
import { cellHeader, decodeCell } from '../../runtime/cell-record.ts';
import { openEmbeddedStore } from '../../runtime/log/embedded-store.ts';
import type { LogEntry } from '../../runtime/log/log.ts';
import { loadRows } from '../../runtime/shard/recovery/load.ts';
import { LogTranscripts } from '../../runtime/transcripts.ts';
import { scratchFolder } from '../runtime/config/folder.ts';

const TOKEN = 'the-stored-token';
const MAIN = 'agent:main:main';
const WORK = 'agent:main:work';

/** Longer than a start takes on a slow machine. */
const START_MS_MAX = 1_500;
const READY_WITHIN_MS = 120_000;

function unpacked(name: string): string {
  const home = scratchFolder();
  execFileSync('tar', ['-xzf', join(import.meta.dirname, `${name}.tar.gz`), '-C', home]);
  return home;
}

/**
 * Starts the program of this commit on a copy of the folder.
 * @param name of the folder
 * @param kills how many starts before are killed, at different moments
 */
async function openStored(name: string, kills: number) {
  const home = unpacked(name);
  const env = {
    TROUPE_HOME: join(home, 'data'),
    TROUPE_TOKEN: TOKEN,
    TROUPE_PORT: `${await reservePort()}`,
  };
  for (let kill = 0; kill < kills; kill++) {
    const { child, ended } = startProgram(['start'], { home, env });
    await new Promise((resolve) => setTimeout(resolve, (START_MS_MAX * kill) / kills));
    child.kill('SIGKILL');
    await ended;
  }
  const program = startProgram(['start'], { home, env });
  await eventually(
    () => expect(program.stdout + program.stderr).toContain('http:'),
    READY_WITHIN_MS,
  );
  const troupe = async (...args: string[]) => {
    const ended = await runProgram(args, { home, env });
    expect(ended, `troupe ${args.join(' ')}`).toMatchObject({ code: 0 });
    return ended.stdout;
  };
  const json = async <T>(...args: string[]) => JSON.parse(await troupe(...args, '--json')) as T;
  const url = `ws://127.0.0.1:${env.TROUPE_PORT}`;
  return { url, troupe, json, data: env.TROUPE_HOME, program };
}

type Sessions = {
  readonly sessions: readonly { readonly key: string; readonly status?: string }[];
};

const CASES = [
  ['format-0', '', 0],
  ['format-0', ', after 20 kills of the first starts', 20],
  ['format-1', '', 0],
] as const;

const DAYS: Record<string, string> = { 'format-0': '2026-11-23', 'format-1': '2026-11-29' };

/** The messages that the killed process had not applied: their deadline has passed since. */
const UNREAD: Record<string, readonly object[]> = {
  'format-0': [
    {
      id: 'f1862595-383f-490d-a0cc-7c93b7e8a626',
      event_type: 'audit.note',
      error: { code: 'EXPIRED' },
    },
  ],
  'format-1': [],
};

it.each(CASES)(
  '%s: reads sessions, files, jobs and the audit of an older build, and ends its runs%s',
  {
    timeout: 600_000,
  },
  async (name, _, kills) => {
    const { url, troupe, json, data, program } = await openStored(name, kills);

    // The run that waited for an approval: expired by now, or denied here.
    const { approvals } = await json<{ approvals: readonly { id: string }[] }>('approvals', 'list');
    for (const { id } of approvals) await troupe('approvals', 'answer', id, 'deny');
    await eventually(async () => {
      const { sessions } = await json<Sessions>('sessions');
      const states = new Map(sessions.map(({ key, status }) => [key, status]));
      expect(states.get(MAIN)).not.toBe('running');
      expect(states.get(WORK)).not.toBe('running');
      expect([...states.keys()]).toEqual(
        expect.arrayContaining([MAIN, WORK, 'agent:main:cron:pulse']),
      );
    }, READY_WITHIN_MS);

    const { schedules } = await json<{ schedules: readonly object[] }>('cron', 'list');
    expect(schedules).toMatchObject([{ jobId: 'pulse', agentId: 'main' }]);
    const audit = await troupe('audit', '--day', DAYS[name]!);
    expect(audit).toContain('POST /v1/schedules/pulse/run');

    const client = await connectOperator({ url, token: TOKEN, client: { version: '0' } });
    const history = async (sessionKey: string) =>
      (await client.request('chat.history', { sessionKey, limit: 100 })).messages;
    const main = JSON.stringify(await history(MAIN));
    expect(main).toContain('Hello, I am Ada.');
    expect(main).toContain('count the planets');
    // The interrupted run has ended once: its time limit passed while the folder was stored.
    const replies = (await history(WORK)).filter(({ role }) => role === 'assistant');
    expect(replies).toHaveLength(1);
    client.close();

    expect(await troupe('agent', '--session', WORK, '-m', 'Hello again.')).toContain('Hello');
    expect(await troupe('agent', '-m', 'call read {"path":"notes.md"}')).toContain(
      'kept by the old build',
    );

    const { dead_letters } = await json<{ dead_letters: readonly object[] }>('dlq', 'list');
    expect(dead_letters).toMatchObject(UNREAD[name]!);
    expect(dead_letters).toHaveLength(UNREAD[name]!.length);
    program.child.kill('SIGTERM');
    await program.ended;
    const stored = await lastMail(join(unpacked(name), 'data'));
    await accountOf(data, stored, { [MAIN]: 'Hello, I am Ada.', [WORK]: 'Hello again.' });
  },
);

const openStore = (data: string) =>
  openEmbeddedStore({ path: join(data, 'store'), durability: 'process' });
const shardsOf = (record: LogEntry): number => decodeCell<{ shards: number }>(record).shards;

/** The last message of each shard's mailbox. */
async function lastMail(data: string): Promise<readonly number[]> {
  const { log, close } = await openStore(data);
  const shards = shardsOf((await log.readLast('cell.local'))!);
  const last: number[] = [];
  for (let shard = 0; shard < shards; shard++)
    last.push(await log.last(mailboxSubject('local', shard, 'data')));
  await close();
  return last;
}

/**
 * Every message that the folder contained has its turn, and a session has the text of each message
 * once. A message that arrives while the program ends has its turn at the next start.
 */
async function accountOf(
  data: string,
  stored: readonly number[],
  texts: Record<string, string>,
): Promise<void> {
  const store = await openStore(data);
  const { log, state, cell } = store;
  const record = (await log.readLast('cell.local'))!;
  expect(cellHeader(record)).toEqual({ format: 1, minReader: 1 });
  const shards = shardsOf(record);
  expect(stored).toHaveLength(shards);
  expect(Math.max(...stored)).toBeGreaterThan(0);
  const blobs = await openFileBlobs(join(data, 'store', 'blobs'));
  for (const [shard, last] of stored.entries()) {
    const journal = journalSubject('local', shard);
    const { fold } = await loadRows({ log, state, blobs, journal, shard, cell });
    expect(fold.scalars.mailFloor, `shard ${shard}`).toBeGreaterThanOrEqual(last);
  }
  for (const [key, text] of Object.entries(texts)) {
    const session = address('default', 'session', key);
    const entries = await new LogTranscripts(log, 'local', shards).read(session, { limit: 1_000 });
    const said = entries.filter(({ entry }) => {
      const { type, text: own } = entry as { type: string; text?: string };
      return type === 'user' && own?.includes(text);
    });
    expect({ key, said: said.length }).toEqual({ key, said: 1 });
  }
  await store.close();
}
