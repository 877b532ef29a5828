/**
 * kill -9 in each state of the agent loop that takes time, and the same run goes on: one reply
 * under one run id, and what may not run twice did not.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import * as esbuild from 'esbuild';
import type { RunRow, SessionEntry } from '../../protocols/session.ts';
import { nodeBundle } from '../../tools/build.mjs';
import { root } from '../../tools/install.mjs';
import { eventually } from '../runtime/eventually.ts';

const MESSAGE = 'call look {} and call post {} then call fire {} then call wipe {} [[words:40]]';
const STATES = ['assembling', 'thinking', 'look', 'post', 'fire', 'asking', 'wipe', 'replying'];

const program = join(root, 'dist', 'run', 'test-agent-loop-program.mjs');
beforeAll(async () => {
  await esbuild.build({
    ...nodeBundle,
    entryPoints: [join(root, 'test/kill/agent-loop.program.ts')],
    outfile: program,
  });
});

let child: ChildProcess | undefined;
const folders: string[] = [];
afterEach(() => {
  child?.kill('SIGKILL');
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const linesOf = (data: string, file: string): string[] =>
  existsSync(join(data, file))
    ? readFileSync(join(data, file), 'utf8').split('\n').filter(Boolean)
    : [];

function start(data: string): ChildProcess {
  child = spawn(process.execPath, [program, data, MESSAGE], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return child;
}

async function killIn(state: string, data: string): Promise<void> {
  const running = start(data);
  running.stdout!.resume();
  await eventually(() => expect(linesOf(data, 'states')).toContain(state));
  const gone = once(running, 'exit');
  running.kill('SIGKILL');
  await gone;
}

async function finish(data: string): Promise<{ row: RunRow; entries: SessionEntry[] }> {
  const running = start(data);
  let said = '';
  running.stdout!.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await once(running, 'close');
  return JSON.parse(said) as { row: RunRow; entries: SessionEntry[] };
}

describe('an agent loop whose process is killed', () => {
  it.each(STATES)(
    'while it is in %s goes on as the same run with one reply',
    {
      timeout: 90_000,
    },
    async (state) => {
      const data = mkdtempSync(join(tmpdir(), 'troupe-loop-'));
      folders.push(data);
      await killIn(state, data);
      const { row, entries } = await finish(data);
      expect(row).toMatchObject({ runId: 'run-1', status: 'ok' });
      expect(row.text).toMatch(/\(seen\)$/);
      const of = (type: SessionEntry['type']) => entries.filter((entry) => entry.type === type);
      expect(of('user')).toHaveLength(1);
      expect(of('run.end')).toMatchObject([{ runId: 'run-1', status: 'ok' }]);
      const results = entries.flatMap((entry) => (entry.type === 'tool' ? [entry] : []));
      expect(results.map(({ name }) => name)).toEqual(['look', 'post', 'fire', 'wipe']);
      expect(linesOf(data, 'fire')).toHaveLength(1);
      expect(new Set(linesOf(data, 'post')).size, 'one key for each attempt').toBe(1);
      expect(results[2]).toMatchObject(
        state === 'fire'
          ? { unknown: true, isError: true }
          : { result: 'fire done', isError: false },
      );
    },
  );
});
