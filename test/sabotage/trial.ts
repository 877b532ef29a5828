/**
 * One trial: simulates seeds one after the other and stops at the first whose account does not add
 * up. `trial FROM TO`: prints one JSON line; exit code 0 when a fault was found, 1 when all seeds
 * were clean.
 */
import { simulate } from '../sim/simulate.ts';

const [from = 1, to = from] = process.argv.slice(2).map(Number);
const crashed = (error: unknown) => ({ faults: [`the cluster threw: ${String(error)}`] });

async function main(): Promise<void> {
  for (let seed = from; seed <= to; seed++) {
    const { faults } = await simulate(seed).catch(crashed);
    if (faults.length === 0) continue;
    process.stdout.write(`${JSON.stringify({ seed, fault: faults[0] })}\n`);
    process.exit(0);
  }
  process.stdout.write(`${JSON.stringify({ seed: null })}\n`);
  process.exit(1);
}

void main();
