/**
 * The overhead of troupe for an agent run, and the number of runs per second. The built program
 * runs as a separate process with the offline model without delay; this process is its only
 * WebSocket client.
 *
 * A run is what a user would call one. The request `agent` is sent, the session accepts it,
 * requests a slot from its agent, calls the model, and appends the answer to the transcript, and
 * the final frame arrives. The offline model answers in well under a millisecond, so all of the
 * time from send to final counts as overhead, including both ways of the socket and this client.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import type { GatewayClient } from '../client/gateway-client.ts';
import { processorTimeOf } from './harness/computer.ts';
import { atPace } from './harness/pace.ts';
import { startProgram } from './harness/program.ts';
import { rawEcho } from './harness/echo.ts';
import { rawAppend } from './harness/raw.ts';
import { defineScenario, type Repeat } from './harness/scenario.ts';
import { spread } from './harness/statistics.ts';
import { inParallel } from './harness/system.ts';

export const SESSIONS = 100;
const RATE_PER_SECOND = 50;
/** Requests in flight per session: while one runs, the next one waits. */
const WINDOW_PER_SESSION = 2;
/** Time limit of the warm-up and the throughput run on a slow or busy machine. */
const PHASE_MS_MAX = 12_000;
/** Frames of a run in sequence: see docs/benchmarks.md. */
const APPENDS = 4;

export const run = defineScenario({
  name: 'run',
  question: 'what does troupe add to an agent run, and how many runs go through a second?',
  needsProgram: true,
  secondsMax: 60,
  figures: {
    addedP50Ms: { label: '50 runs/s: send to final, p50', unit: 'ms', limit: 'appendsMs' },
    addedP99Ms: { label: '  p99', unit: 'ms', limit: 'appendsMs' },
    acceptedP50Ms: { label: '  send to accepted, p50', unit: 'ms' },
    acceptedP99Ms: { label: '  p99', unit: 'ms' },
    appendsMs: {
      label: `  limit: ${APPENDS} appends in a row and an echo, p50`,
      unit: 'ms',
    },
    echoMs: { label: '  one frame there and back, p50', unit: 'ms' },
    aloneThreadMs: { label: '  processor time of a run, JavaScript thread', unit: 'ms' },
    runsPerSecond: { label: `runs over ${SESSIONS} sessions, one client`, unit: '1/s' },
    runP50Ms: { label: '  send to final then, p50', unit: 'ms' },
    runP99Ms: { label: '  p99', unit: 'ms' },
    serverMs: { label: '  processor time of a run, server', unit: 'ms' },
    serverThreadMs: { label: '  of it, its JavaScript thread', unit: 'ms' },
    clientMs: { label: '  processor time of a run, client', unit: 'ms' },
  },
  async measure(repeat) {
    const { folder, pick } = repeat;
    const pace = { inARow: APPENDS, everyMs: 1_000 / RATE_PER_SECOND };
    const appends = await rawAppend(folder, pick(200, 100, 5), pace);
    const echo = await rawEcho(pick(2_000, 500, 20));
    await ownRuns(folder);
    const program = await startProgram(folder);
    const client = await program.connect();
    await throughput(client, pick(3_000, 1_000, 20), 'warm');
    const rested = processorTimeOf(program.pid).mainMs;
    const steady = await steadyRate(client, repeat);
    const aloneMs = processorTimeOf(program.pid).mainMs - rested;
    const before = { server: processorTimeOf(program.pid), client: processorTimeOf(process.pid) };
    const { count, ...load } = await throughput(client, pick(8_000, 1_500, 20), 'load');
    const after = { server: processorTimeOf(program.pid), client: processorTimeOf(process.pid) };
    client.close();
    await program.stop();
    return {
      addedP50Ms: steady.final.p50,
      addedP99Ms: steady.final.p99,
      acceptedP50Ms: steady.accepted.p50,
      acceptedP99Ms: steady.accepted.p99,
      appendsMs: appends.p50 + echo.p50,
      echoMs: echo.p50,
      aloneThreadMs: aloneMs / steady.count,
      ...load,
      serverMs: (after.server.allMs - before.server.allMs) / count,
      serverThreadMs: (after.server.mainMs - before.server.mainMs) / count,
      clientMs: (after.client.allMs - before.client.allMs) / count,
    };
  },
});

/** Every request has its own run; otherwise one that arrives during another run would join it. */
export async function ownRuns(folder: string): Promise<void> {
  const data = join(folder, 'data');
  await mkdir(data, { recursive: true });
  const text = `{ messages: { queue: { mode: 'followup' } }, log: { level: 'warn' } }`;
  await writeFile(join(data, 'troupe.json5'), text);
}

/** Runs one request; returns milliseconds from sending to accepted and to the final frame. */
async function timed(client: GatewayClient, sessionKey: string) {
  const sent = performance.now();
  let acceptedMs = 0;
  const onAccepted = () => void (acceptedMs = performance.now() - sent);
  const params = { message: 'echo ok', sessionKey, idempotencyKey: randomUUID() };
  const final = await client.request('agent', params, { expectFinal: true, onAccepted });
  if (final.status !== 'ok') throw new Error(`a run ended ${final.status}`);
  return { acceptedMs, finalMs: performance.now() - sent };
}

async function steadyRate(client: GatewayClient, { pick }: Repeat) {
  const count = pick(500, 150, 5);
  const ended = await atPace(1_000 / RATE_PER_SECOND, count, (at) =>
    timed(client, `steady-${at % SESSIONS}`),
  );
  return {
    count,
    accepted: spread(ended.map(({ acceptedMs }) => acceptedMs)),
    final: spread(ended.map(({ finalMs }) => finalMs)),
  };
}

/** Closed loop over all sessions: this number of runs, or as many as complete in the time limit. */
export async function throughput(client: GatewayClient, most: number, name: string) {
  const samples: number[] = [];
  const begun = performance.now();
  await inParallel(most, SESSIONS * WINDOW_PER_SESSION, async (at) => {
    if (performance.now() - begun > PHASE_MS_MAX) return;
    samples.push((await timed(client, `${name}-${at % SESSIONS}`)).finalMs);
  });
  const count = samples.length;
  const seconds = (performance.now() - begun) / 1_000;
  const { p50, p99 } = spread(samples);
  return { count, runsPerSecond: count / seconds, runP50Ms: p50, runP99Ms: p99 };
}
