/**
 * kill -9 of the process that holds a device, again and again while commands are on their way: no
 * command is carried out twice, each is answered with what the node did, and one is unknown only to
 * a node that keeps no book. `TROUPE_KILL_SEED` repeats a run.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, expect, it } from 'vitest';
import * as esbuild from 'esbuild';
import { nodeBundle } from '../../tools/build.mjs';
import { root } from '../../tools/install.mjs';
import { scratchFolder } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';
import { randomOf } from './conversations.ts';

const KILLS = 4;
const SEED = Number(process.env['TROUPE_KILL_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const COMMANDS = 60;
/** Commands that are carried out between two kills, at most: some are left for the last start. */
const BETWEEN_MAX = 12;

const program = join(root, 'dist', 'run', 'test-device-program.mjs');
beforeAll(async () => {
  await esbuild.build({
    ...nodeBundle,
    entryPoints: [join(root, 'test/kill/device.program.ts')],
    outfile: program,
  });
});

let child: ChildProcess | undefined;
afterEach(() => void child?.kill('SIGKILL'));

const linesOf = (data: string, file: string): string[] =>
  existsSync(join(data, file))
    ? readFileSync(join(data, file), 'utf8').split('\n').filter(Boolean)
    : [];

function start(data: string, book: string): ChildProcess {
  child = spawn(process.execPath, [program, data, book], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return child;
}

async function killAfter(more: number, data: string, book: string): Promise<void> {
  const wanted = linesOf(data, 'executed').length + more;
  const running = start(data, book);
  await eventually(() => expect(linesOf(data, 'executed').length).toBeGreaterThanOrEqual(wanted));
  const gone = once(running, 'exit');
  running.kill('SIGKILL');
  await gone;
}

it.each(['book', 'none'])(
  `a device that is killed ${KILLS} times carries nothing out twice (book: %s, seed ${SEED})`,
  { timeout: 300_000 },
  async (book) => {
    const random = randomOf(SEED);
    const data = scratchFolder();
    for (let n = 0; n < KILLS; n++)
      await killAfter(1 + Math.floor(random() * BETWEEN_MAX), data, book);
    const running = start(data, book);
    await once(running, 'exit');
    expect(linesOf(data, 'ended')).toHaveLength(1);
    const executed = linesOf(data, 'executed');
    expect(executed.length, 'none twice').toBe(new Set(executed).size);
    const answers = new Map(
      linesOf(data, 'answers').map((line) => JSON.parse(line) as [string, object]),
    );
    expect(answers.size).toBe(COMMANDS);
    const unknown = [...answers].filter(([, said]) => 'unknown' in said).map(([id]) => id);
    if (book === 'book') expect(unknown).toEqual([]);
    for (const [id, said] of answers) {
      if (unknown.includes(id)) continue;
      expect(said).toEqual({ payload: { json: JSON.stringify(id) } });
      expect(executed).toContain(id);
    }
  },
);
