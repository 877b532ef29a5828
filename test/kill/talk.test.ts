/**
 * kill -9 in each turn of a conversation of two agents: it goes on from that turn, asks none twice,
 * and is announced once.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, expect, it } from 'vitest';
import * as esbuild from 'esbuild';
import type { ConversationRow } from '../../protocols/conversation.ts';
import type { SessionEntry } from '../../protocols/session.ts';
import { nodeBundle } from '../../tools/build.mjs';
import { root } from '../../tools/install.mjs';
import { scratchFolder } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';

const TURNS = ['0', '1', '2', 'announce'];

const program = join(root, 'dist', 'run', 'test-talk-program.mjs');
beforeAll(async () => {
  await esbuild.build({
    ...nodeBundle,
    entryPoints: [join(root, 'test/kill/talk.program.ts')],
    outfile: program,
  });
});

let child: ChildProcess | undefined;
afterEach(() => void child?.kill('SIGKILL'));

function start(data: string): ChildProcess {
  child = spawn(process.execPath, [program, data], { stdio: ['ignore', 'pipe', 'inherit'] });
  return child;
}

const seenIn = (data: string): readonly string[] =>
  existsSync(join(data, 'turns'))
    ? readFileSync(join(data, 'turns'), 'utf8').split('\n').filter(Boolean)
    : [];

/** Kills it as soon as the exchange has come to that turn. */
async function killIn(turn: string, data: string): Promise<void> {
  const running = start(data);
  running.stdout!.resume();
  await eventually(() => expect(seenIn(data)).toContain(turn));
  const gone = once(running, 'exit');
  running.kill('SIGKILL');
  await gone;
}

async function finish(data: string): Promise<{ row: ConversationRow; entries: SessionEntry[] }> {
  const running = start(data);
  let said = '';
  running.stdout!.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await once(running, 'close');
  return JSON.parse(said) as { row: ConversationRow; entries: SessionEntry[] };
}

it.each([[['0']], [['1']], [['2']], [['announce']], [TURNS]])(
  'a conversation whose process is killed in the turns %j ends, and asks no turn twice',
  { timeout: 120_000 },
  async (turns) => {
    const data = scratchFolder();
    for (const turn of turns) await killIn(turn, data);
    const { row, entries } = await finish(data);
    expect(row).toMatchObject({ status: 'ended', end: 'turns', delivered: true });
    expect(row.turns.map(({ turn, status }) => [String(turn), status])).toEqual(
      TURNS.map((turn) => [turn, 'ok']),
    );
    const of = (type: SessionEntry['type']) =>
      entries
        .filter((entry) => entry.type === type && entry.runId.startsWith('talk-c1-'))
        .map(({ runId }) => runId.slice('talk-c1-'.length))
        .toSorted();
    expect(of('user')).toEqual(TURNS);
    expect(of('run.end')).toEqual(TURNS);
    expect(of('assistant')).toEqual(TURNS);
  },
);
