/**
 * How fast agents start subagents, and what one subagent costs: trees of about a thousand subagents
 * on the built program with the offline model, one after the other. Each is measured from the
 * user's request to the end of the run that reads the last report.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { memoryOf, processorTimeOf } from './harness/computer.ts';
import { startProgram } from './harness/program.ts';
import { rawAppend } from './harness/raw.ts';
import { defineScenario } from './harness/scenario.ts';
import { median } from './harness/statistics.ts';
import { account, configureTrees, grow, sizeOf, SMALL_TREE, TREE } from './harness/tree.ts';

/**
 * Frames in sequence on the longest path through a tree, without waits. Down: the request and three
 * runs of three frames, two of them started by three (the call, its parent, the subagent). Up: two
 * reports with three frames each (the end, the parent, the answer) and a run.
 */
const APPENDS = 1 + 5 * 3 + 2 * 3 + 2 * 3;
const SAMPLE_MS = 50;

export const spawn = defineScenario({
  name: 'spawn',
  question: 'how many subagents a second start, work and report, and what does one cost?',
  needsProgram: true,
  secondsMax: 600,
  figures: {
    spawnsPerSecond: { label: 'subagents of a tree, median of the trees', unit: '1/s' },
    treeS: { label: '  a tree, from the request to its last run', unit: 's', limit: 'appendsS' },
    appendsS: { label: `  limit: ${APPENDS} appends in a row`, unit: 's' },
    cpuMs: { label: 'processor time of a subagent, all threads', unit: 'ms' },
    threadMs: { label: '  of it, the JavaScript thread', unit: 'ms' },
    aliveBytes: { label: 'private memory of a subagent, most while alive', unit: 'bytes' },
    keptBytes: { label: '  kept after its end, from the first tree to the last', unit: 'bytes' },
    diskBytes: { label: 'disk of a subagent', unit: 'bytes' },
  },
  async measure({ folder, pick }) {
    const shape = pick(TREE, TREE, SMALL_TREE);
    const size = sizeOf(shape);
    const appends = await rawAppend(folder, pick(50, 20, 2), { inARow: APPENDS });
    await configureTrees(folder);
    const program = await startProgram(folder);
    const client = await program.connect();
    const memory = () => memoryOf(program.pid, 'RssAnon') * 1e6;
    const tree = async (name: string) => {
      const before = { ...processorTimeOf(program.pid), bytes: memory(), disk: diskOf(folder) };
      let most = before.bytes;
      const looks = setInterval(() => (most = Math.max(most, memory())), SAMPLE_MS);
      const seconds = await grow(client, name, shape);
      clearInterval(looks);
      const after = { ...processorTimeOf(program.pid), bytes: memory(), disk: diskOf(folder) };
      await account(program, client, name, shape);
      return { seconds, most: most - before.bytes, before, after };
    };
    const first = await tree('warm');
    const trees = [];
    for (let at = 0; at < pick(4, 2, 1); at++) trees.push(await tree(`tree-${at}`));
    client.close();
    await program.stop();
    const last = trees.at(-1)!;
    const all = size * trees.length;
    const treeS = median(trees.map(({ seconds }) => seconds));
    return {
      spawnsPerSecond: size / treeS,
      treeS,
      appendsS: appends.p50 / 1_000,
      cpuMs: (last.after.allMs - first.after.allMs) / all,
      threadMs: (last.after.mainMs - first.after.mainMs) / all,
      aliveBytes: Math.max(...trees.map(({ most }) => most)) / size,
      keptBytes: Math.max(0, last.after.bytes - first.after.bytes) / all,
      diskBytes: Math.max(0, last.after.disk - first.after.disk) / all,
    };
  },
});

/** Bytes on disk of all files below this folder. */
function diskOf(folder: string): number {
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + blocksOf(join(parentPath, name)) * 512, 0);
}

/** A file may have been removed since it was listed. */
const blocksOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.blocks ?? 0;
