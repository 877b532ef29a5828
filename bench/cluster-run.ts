/**
 * How many agent runs a second a cluster completes: the built program as one gateway and 1, 2 and 3
 * workers on one nats-server, the offline model without delay, and this process as the gateway's
 * only WebSocket client. `run.ts` defines a run.
 */
import { join } from 'node:path';
import { processorTimeOf } from './harness/computer.ts';
import { openProgramCell } from './harness/program-cell.ts';
import { defineScenario, ofOneToThree, type Repeat } from './harness/scenario.ts';
import { ownRuns, SESSIONS, throughput } from './run.ts';

export const clusterRun = defineScenario({
  name: 'cluster-run',
  question: 'how many agent runs a second go through a gateway and 1, 2 and 3 workers on NATS?',
  needsProgram: true,
  secondsMax: 240,
  figures: {
    runsPerSecond: { label: `runs over ${SESSIONS} sessions, the best of 1 to 3`, unit: '1/s' },
    runsOf1: { label: '  1 worker', unit: '1/s' },
    runsOf2: { label: '  2 workers', unit: '1/s' },
    runsOf3: { label: '  3 workers', unit: '1/s' },
    runP50Ms: { label: 'send to final then, 1 worker, p50', unit: 'ms' },
    runP99Ms: { label: '  p99', unit: 'ms' },
    workerMs: { label: 'processor time of a run, 1 worker: the worker', unit: 'ms' },
    gatewayMs: { label: '  the gateway', unit: 'ms' },
    natsMs: { label: '  nats-server', unit: 'ms' },
    clientMs: { label: '  the client', unit: 'ms' },
    workersOf3Ms: { label: '  the workers (of 3)', unit: 'ms' },
  },
  async measure(repeat) {
    const [one, two, three] = await ofOneToThree(repeat, (workers) => runs(repeat, workers));
    return {
      runsPerSecond: Math.max(one.runsPerSecond, two.runsPerSecond, three.runsPerSecond),
      runsOf1: one.runsPerSecond,
      runsOf2: two.runsPerSecond,
      runsOf3: three.runsPerSecond,
      runP50Ms: one.runP50Ms,
      runP99Ms: one.runP99Ms,
      workerMs: one.workersMs,
      gatewayMs: one.gatewayMs,
      natsMs: one.natsMs,
      clientMs: one.clientMs,
      workersOf3Ms: three.workersMs,
    };
  },
});

/**
 * In a new cell with this number of workers; closed loop with two requests in flight per session.
 */
async function runs({ folder, pick, scale }: Repeat, workers: number) {
  const own = { folder: join(folder, `of-${workers}`), scale };
  const cell = await openProgramCell(own, workers, ownRuns);
  const client = await cell.gateway.connect();
  await throughput(client, pick(1_500, 500, 10), 'warm');
  const pids = {
    workers: cell.pids.workers,
    gateway: [cell.pids.gateway],
    nats: [cell.pids.nats],
    client: [process.pid],
  };
  const used = (of: keyof typeof pids) =>
    pids[of].reduce((sum, pid) => sum + processorTimeOf(pid).allMs, 0);
  const usedByAll = () => ({
    workersMs: used('workers'),
    gatewayMs: used('gateway'),
    natsMs: used('nats'),
    clientMs: used('client'),
  });
  const before = usedByAll();
  const { count, ...load } = await throughput(client, pick(4_000, 1_000, 10), 'load');
  const after = usedByAll();
  client.close();
  await cell.stop();
  return {
    ...load,
    workersMs: (after.workersMs - before.workersMs) / count,
    gatewayMs: (after.gatewayMs - before.gatewayMs) / count,
    natsMs: (after.natsMs - before.natsMs) / count,
    clientMs: (after.clientMs - before.clientMs) / count,
  };
}
