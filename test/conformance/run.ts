/**
 * `node tools/run.mjs test/conformance/run.ts`: every endpoint that breaks a rule, one after the
 * other, against every check; exit code 1 when one is not found, or another rule seems broken too.
 */
import { BREAKERS } from './breakers/breakers.ts';
import { foundBroken } from './proof.ts';
import { embeddedSubject, faultsIn } from './subject.ts';

async function main(): Promise<number> {
  const subject = await embeddedSubject();
  let misses = 0;
  try {
    for (const breaker of BREAKERS) {
      const found = await foundBroken(subject, breaker);
      const isExact = found.map(({ id }) => id).join() === breaker.breaks;
      if (!isExact) misses++;
      console.log(`${isExact ? 'CAUGHT' : 'MISSED'} ${breaker.breaks}: it ${breaker.how}`);
      if (!isExact) console.log(faultsIn(found).join('\n') || '  the suite found nothing');
    }
  } finally {
    await subject.close();
  }
  console.log(
    `${BREAKERS.length - misses} of ${BREAKERS.length} are caught by exactly their check`,
  );
  return misses === 0 ? 0 : 1;
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
