/**
 * `node tools/run.mjs test/conformance/run.ts`: runs every check against every broken endpoint. The
 * exit code is 1 when a fault is not found, or when another rule is reported as broken.
 */
import type { Finding } from '../../conformance/suite.ts';
import { BREAKERS } from './breakers/breakers.ts';
import type { Breaker } from './breakers/faults.ts';
import { ALONE, foundBroken, sociableChecks } from './proof.ts';
import { embeddedSubject, faultsIn, type Subject } from './subject.ts';

const AT_ONCE = 5;

/** Runs the concurrent checks first, then, alone, those that measure time. */
async function findAll(subject: Subject): Promise<ReadonlyMap<Breaker, readonly Finding[]>> {
  const found = new Map<Breaker, readonly Finding[]>();
  const waiting = [...BREAKERS];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift())
      found.set(next, await foundBroken(subject, next, sociableChecks(next)));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  for (const breaker of BREAKERS) {
    const others = ALONE.filter((id) => id !== breaker.breaks);
    const more = await foundBroken(subject, breaker, others);
    found.set(breaker, [...(found.get(breaker) ?? []), ...more]);
  }
  return found;
}

function report({ breaks, how }: Breaker, found: readonly Finding[]): boolean {
  const isExact = found.length === 1 && found[0]?.id === breaks && found[0].verdict === 'broken';
  console.log(`${isExact ? 'CAUGHT' : 'MISSED'} ${breaks}: it ${how}`);
  if (!isExact) console.log(faultsIn(found).join('\n') || 'the suite found nothing');
  return isExact;
}

async function main(): Promise<number> {
  const subject = await embeddedSubject();
  try {
    const found = await findAll(subject);
    const caught = BREAKERS.filter((breaker) => report(breaker, found.get(breaker) ?? []));
    console.log(`${caught.length} of ${BREAKERS.length} are caught by exactly their check`);
    return caught.length === BREAKERS.length ? 0 : 1;
  } finally {
    await subject.close();
  }
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
