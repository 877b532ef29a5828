/**
 * How long the proofs take that run for every change: the exhaustive model of the commit protocol
 * and the simulator's seeds. Measured as a contributor runs them, with the start of the test
 * runner.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { defineScenario } from './harness/scenario.ts';

/** The repository is two folders above the bundle in dist/run/ and one above bench/. */
const root = fileURLToPath(
  new URL(import.meta.url.includes('/dist/') ? '../..' : '..', import.meta.url),
);

export const proofs = defineScenario({
  name: 'proofs',
  question: 'how long do the exhaustive model and the simulator’s seeds take?',
  secondsMax: 400,
  repeats: 1,
  figures: {
    modelSeconds: { label: 'commit protocol, every interleaving, and its mutants', unit: 's' },
    simulationSeconds: { label: 'simulation, all seeds of a test run', unit: 's' },
  },
  async measure({ pick }) {
    const one = 'test/bench/report.test.ts';
    return {
      modelSeconds: await secondsOf(pick('test/model', 'test/model', one)),
      simulationSeconds: await secondsOf(pick('test/sim', 'test/sim', one)),
    };
  },
});

/** @throws Error when a test fails: the time of a failed proof means nothing */
async function secondsOf(tests: string): Promise<number> {
  const begun = performance.now();
  const runner = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', tests], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [runner.stdout, runner.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (said += text));
  const [code] = (await once(runner, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${tests} failed:\n${said.slice(-2_000)}`);
  return (performance.now() - begun) / 1_000;
}
