/**
 * `npm run test:sabotage [FROM-TO]`: breaks the product, one line at a time, and checks that the
 * simulation, or the mutant's own test, fails for each mutant. Exit code 1 when a mutant survives
 * all seeds (1-200 by default), or when the unchanged code fails.
 */
import { mutants } from './mutants.ts';
import { bundleTrial, findFault, runTrial } from './sabotage.ts';

const [from = 1, to = from] = (process.argv[2] ?? '1-200').split('-').map(Number);
const LIMIT_MS = 120_000;

async function main(): Promise<number> {
  let survivors = 0;
  for (const mutant of mutants) {
    const caught = await findFault(mutant, from, to, LIMIT_MS);
    const verdict = caught
      ? `CAUGHT by ${caught.by}: ${caught.fault}`
      : `SURVIVES seeds ${from} to ${to}`;
    if (!caught) survivors++;
    console.log(`${mutant.name}\n  ${mutant.breaks}\n  ${verdict}`);
  }
  const sound = await runTrial(await bundleTrial(), from, Math.min(to, from + 20), LIMIT_MS);
  if (sound) console.log(`the code as it is fails at ${sound.by}: ${sound.fault}`);
  console.log(`${mutants.length - survivors} of ${mutants.length} mutants caught`);
  return survivors > 0 || sound ? 1 : 0;
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
