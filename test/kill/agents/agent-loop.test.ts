/**
 * kill -9 of the process in each state of the agent loop that takes time. The same run continues
 * after the restart with one reply, and a `once` tool is not called again.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { RunRow, SessionEntry } from '../../../protocols/session.ts';
import { BundledProgram, linesOf } from '../bundled-program.ts';

const MESSAGE = 'call look {} and call post {} then call fire {} then call wipe {} [[words:40]]';
const STATES = ['assembling', 'thinking', 'look', 'post', 'fire', 'asking', 'wipe', 'replying'];

const program = new BundledProgram('agents/agent-loop');
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

describe('an agent loop whose process is killed', () => {
  it.each(STATES)(
    'in state %s continues as the same run with one reply',
    { timeout: 90_000 },
    async (state) => {
      const data = mkdtempSync(join(tmpdir(), 'troupe-loop-'));
      folders.push(data);
      const args = [data, MESSAGE];
      await program.killWhen(args, () => expect(linesOf(data, 'states')).toContain(state));
      const { row, entries } = JSON.parse(await program.output(args)) as {
        row: RunRow;
        entries: SessionEntry[];
      };
      expect(row).toMatchObject({ runId: 'run-1', status: 'ok' });
      expect(row.text).toMatch(/\(seen\)$/);
      const of = (type: SessionEntry['type']) => entries.filter((entry) => entry.type === type);
      expect(of('user')).toHaveLength(1);
      expect(of('run.end')).toMatchObject([{ runId: 'run-1', status: 'ok' }]);
      const results = entries.flatMap((entry) => (entry.type === 'tool' ? [entry] : []));
      expect(results.map(({ name }) => name)).toEqual(['look', 'post', 'fire', 'wipe']);
      expect(linesOf(data, 'fire')).toHaveLength(1);
      expect(new Set(linesOf(data, 'post')).size, 'attempts share one key').toBe(1);
      expect(results[2]).toMatchObject(
        state === 'fire'
          ? { unknown: true, isError: true }
          : { result: 'fire done', isError: false },
      );
    },
  );
});
