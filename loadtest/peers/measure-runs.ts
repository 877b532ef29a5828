/**
 * Measures runs of agents: one session alone, then 8 at once, each with the same number of runs.
 */
import { randomUUID } from 'node:crypto';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { newHistogram, percentileMs, record } from '../histograms.ts';
import { processTree, US_PER_TICK } from './process-tree.ts';
import { connectTo, MESSAGE, type RunPeer, SESSIONS } from './run-peer.ts';

export type RunFigures = {
  /** one session alone, from the request to the final response, ms */
  readonly aloneP50Ms: number;
  readonly aloneP99Ms: number;
  /** 8 sessions at once */
  readonly runsPerSecond: number;
  readonly busyP50Ms: number;
  readonly busyP99Ms: number;
  /** processor time of a run with 8 sessions at once, of the gateway's processes, ms; Linux only */
  readonly processMs: number | undefined;
  /** most resident memory of the gateway's processes so far, bytes; Linux only */
  readonly memoryBytes: number | undefined;
  /** calls of the model per run */
  readonly modelCalls: number;
  /** runs that were measured, all of which ended with the status `ok` */
  readonly runs: number;
};

const WARM_UP_RUNS = 3;
const MS_PER_TICK = US_PER_TICK / 1_000;
const RUN_MS_MAX = 600_000;

/**
 * @param runsEach of each session
 * @param modelCalls so far
 * @throws TroupeError INTERNAL when a run does not end with `ok`, or ended without the model
 */
export async function measureRuns(
  peer: RunPeer,
  runsEach: number,
  modelCalls: () => number,
): Promise<RunFigures> {
  const client = await connectTo(peer);
  try {
    const sessions = Array.from({ length: SESSIONS }, (_, n) => `bench-${n}`);
    await running(client, sessions, WARM_UP_RUNS);
    const calls = modelCalls();
    const alone = await running(client, ['bench-alone'], runsEach);
    const before = processTree(peer.pid);
    const busy = await running(client, sessions, runsEach);
    const after = processTree(peer.pid);
    const runs = alone.runs + busy.runs;
    const perRun = (modelCalls() - calls) / runs;
    if (perRun < 1) throw new TroupeError('INTERNAL', 'a run ended without a call of the model');
    const isKnown = before.ids.length > 0 && after.ids.length > 0;
    return {
      aloneP50Ms: percentileMs(alone.latency, 50),
      aloneP99Ms: percentileMs(alone.latency, 99),
      runsPerSecond: busy.runs / busy.seconds,
      busyP50Ms: percentileMs(busy.latency, 50),
      busyP99Ms: percentileMs(busy.latency, 99),
      processMs: isKnown ? ((after.ticks - before.ticks) * MS_PER_TICK) / busy.runs : undefined,
      memoryBytes: isKnown ? after.peakBytes : undefined,
      modelCalls: perRun,
      runs,
    };
  } finally {
    client.close();
  }
}

/** Each session has one run at a time. */
async function running(client: GatewayClient, sessions: readonly string[], runsEach: number) {
  const latency = newHistogram();
  const begun = performance.now();
  const session = async (name: string) => {
    for (let n = 0; n < runsEach; n++) {
      const asked = performance.now();
      await run(client, `agent:main:${name}`);
      record(latency, performance.now() - asked);
    }
  };
  await Promise.all(sessions.map(session));
  const seconds = (performance.now() - begun) / 1_000;
  return { latency, runs: sessions.length * runsEach, seconds };
}

async function run(client: GatewayClient, sessionKey: string): Promise<void> {
  const params = { message: MESSAGE, sessionKey, idempotencyKey: randomUUID() };
  const options = { expectFinal: true, timeoutMs: RUN_MS_MAX } as const;
  const { status } = await client.request('agent', params, options);
  if (status !== 'ok') throw new TroupeError('INTERNAL', `a run ended with ${status}`);
}
