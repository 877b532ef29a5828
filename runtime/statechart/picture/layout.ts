/**
 * Layout: places the states and transitions of a chart, on every level of depth and in two
 * directions. ELK does it in a thread of its own, because a large chart takes half a second.
 *
 * elkjs is a development dependency: where it is not installed, only the charts whose layouts are
 * in `charts/layouts.json` have drawings.
 */
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import type { ElkNode } from 'elkjs/lib/elk-api.js';
import { type Chart, depthIn } from '../../../charts/chart.ts';
import type { Level } from '../../../charts/drawing.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { drawingOf, graphOf } from './elk-graph.ts';

const LAYOUT_MS = 60_000;
const HEAP_MB = 512;

/** Changes when a chart, its texts or the settings of the layout change: 16 hex digits. */
export function layoutHash(chart: Chart): string {
  const graphs = graphsOf(chart);
  return createHash('sha256').update(JSON.stringify(graphs)).digest('hex').slice(0, 16);
}

/** Down and right for each depth, from 1 to the deepest state. */
const graphsOf = (chart: Chart): ElkNode[] =>
  depthsOf(chart).flatMap((depth) => [
    graphOf(chart, depth, 'DOWN'),
    graphOf(chart, depth, 'RIGHT'),
  ]);

const depthsOf = (chart: Chart): number[] =>
  Array.from({ length: Math.max(1, depthIn(chart)) }, (_, n) => n + 1);

/**
 * The drawings of a chart by depth; undefined where elkjs is not installed.
 *
 * @throws TroupeError UNAVAILABLE when the layout fails or takes longer than a minute
 */
export async function layOut(chart: Chart): Promise<readonly Level[] | undefined> {
  const elk = pathOfElk();
  if (elk === undefined) return undefined;
  const graphs = await inThread(elk, graphsOf(chart));
  return depthsOf(chart).map((depth, n) => ({
    depth,
    down: drawingOf(chart, depth, graphs[2 * n]!),
    right: drawingOf(chart, depth, graphs[2 * n + 1]!),
  }));
}

function pathOfElk(): string | undefined {
  try {
    return createRequire(import.meta.url).resolve('elkjs/lib/elk.bundled.js');
  } catch {
    return undefined;
  }
}

/** It needs no file of its own, so it runs from the sources and from the bundle alike. */
const THREAD = `
const { parentPort, workerData } = require('node:worker_threads');
const { elk, graphs } = workerData;
const Elk = require(elk);
const engine = new Elk();
Promise.all(graphs.map((graph) => engine.layout(graph))).then(
  (placed) => parentPort.postMessage({ placed }),
  (error) => parentPort.postMessage({ failed: String(error && error.message) }),
);`;

type ThreadResult = { readonly placed?: readonly ElkNode[]; readonly failed?: string };

async function inThread(elk: string, graphs: readonly ElkNode[]): Promise<readonly ElkNode[]> {
  const thread = new Worker(THREAD, {
    eval: true,
    workerData: { elk, graphs },
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    env: {},
    execArgv: [],
  });
  const late = AbortSignal.timeout(LAYOUT_MS);
  try {
    const { placed, failed } = await new Promise<ThreadResult>((resolve, reject) => {
      thread.on('message', resolve);
      thread.on('error', reject);
      thread.on('exit', () => reject(new Error('the thread ended')));
      const stop = () => reject(new Error(`it took longer than ${LAYOUT_MS / 1_000} s`));
      late.addEventListener('abort', stop, { once: true });
    });
    if (!placed) throw new Error(failed);
    return placed;
  } catch (error) {
    const why = (error as Error).message;
    throw new TroupeError('UNAVAILABLE', `the chart could not be laid out: ${why}`);
  } finally {
    await thread.terminate();
  }
}
