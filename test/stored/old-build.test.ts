/**
 * A data folder of an older build opens in this one: `old-build.tar.gz`, made by `make.sh` with the
 * program of commit 9c5dcd1, whose process was killed in the middle of a run. Its keys and token
 * were made for it and are used nowhere else.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { connectOperator } from '../../client/operator-client.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { runProgram, startProgram } from '../cli/program.ts';
import { eventually } from '../runtime/eventually.ts';
import { scratchFolder } from '../runtime/config/folder.ts';

const TOKEN = 'the-stored-token';
const MAIN = 'agent:main:main';
const WORK = 'agent:main:work';

/** Longer than a start takes on a slow machine. */
const START_MS_MAX = 1_500;

/**
 * Starts the program of this commit on a copy of the folder.
 * @param kills how many starts before are killed, at different moments
 */
async function openStored(kills: number) {
  const home = scratchFolder();
  execFileSync('tar', ['-xzf', join(import.meta.dirname, 'old-build.tar.gz'), '-C', home]);
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
  await eventually(() => expect(program.stdout + program.stderr).toContain('http:'));
  const troupe = async (...args: string[]) => {
    const ended = await runProgram(args, { home, env });
    expect(ended, `troupe ${args.join(' ')}`).toMatchObject({ code: 0 });
    return ended.stdout;
  };
  const json = async <T>(...args: string[]) => JSON.parse(await troupe(...args, '--json')) as T;
  return { url: `ws://127.0.0.1:${env.TROUPE_PORT}`, troupe, json };
}

type Sessions = {
  readonly sessions: readonly { readonly key: string; readonly status?: string }[];
};

const CASES = [
  ['', 0],
  [', after 20 kills of the first starts', 20],
] as const;

it.each(CASES)(
  'reads sessions, files, jobs and the audit of an older build, and ends its runs%s',
  {
    timeout: 180_000,
  },
  async (_, kills) => {
    const { url, troupe, json } = await openStored(kills);

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
    }, 60_000);

    const { schedules } = await json<{ schedules: readonly object[] }>('cron', 'list');
    expect(schedules).toMatchObject([{ jobId: 'pulse', agentId: 'main' }]);
    const audit = await troupe('audit', '--day', '2026-11-23');
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
  },
);
