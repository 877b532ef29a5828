/**
 * How soon the built program is ready, and its memory. Measured from the start of its process with
 * an empty data folder to the first 200 of /readyz, and again with the folder of the first start.
 * Memory is all resident memory (VmRSS), including the shared pages of Node's own file.
 */
import { randomUUID } from 'node:crypto';
import { memoryOf } from './harness/computer.ts';
import { type Program, startBareServer, startProgram } from './harness/program.ts';
import { defineScenario } from './harness/scenario.ts';
import { inParallel } from './harness/system.ts';

const RUNS = 100;

export const start = defineScenario({
  name: 'start',
  question: 'how soon is the built program ready, and how much memory does it hold?',
  needsProgram: true,
  secondsMax: 60,
  repeats: 5,
  figures: {
    readyMs: { label: 'process start to the first 200 of /readyz', unit: 'ms', limit: 'bareMs' },
    againMs: { label: '  with the data of an earlier run', unit: 'ms', limit: 'bareMs' },
    bareMs: { label: '  limit: bare Node that answers HTTP', unit: 'ms' },
    memoryMb: { label: 'memory when ready', unit: 'MB', limit: 'bareMemoryMb' },
    memoryAfterMb: { label: `  after ${RUNS} agent runs`, unit: 'MB', limit: 'bareMemoryMb' },
    bareMemoryMb: { label: '  limit: bare Node that answers HTTP', unit: 'MB' },
  },
  async measure({ folder, pick }) {
    const bare = await startBareServer();
    const bareMemoryMb = memoryOf(bare.pid, 'VmRSS');
    await bare.stop();
    const first = await startProgram(folder);
    const memoryMb = memoryOf(first.pid, 'VmRSS');
    await runAgents(first, pick(RUNS, RUNS, 3));
    const memoryAfterMb = memoryOf(first.pid, 'VmRSS');
    await first.stop();
    const again = await startProgram(folder);
    await again.stop();
    return {
      readyMs: first.readyMs,
      againMs: again.readyMs,
      bareMs: bare.readyMs,
      memoryMb,
      memoryAfterMb,
      bareMemoryMb,
    };
  },
});

async function runAgents(program: Program, count: number): Promise<void> {
  const client = await program.connect();
  await inParallel(count, 10, async (at) => {
    const params = {
      message: 'hello',
      sessionKey: `start-${at % 10}`,
      idempotencyKey: randomUUID(),
    };
    await client.request('agent', params, { expectFinal: true });
  });
  client.close();
}
