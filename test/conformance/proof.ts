/** Proof: what the suite finds of an endpoint that breaks one rule. */
import { CHECKS, type Finding, runSuite } from '../../conformance/suite.ts';
import { openBrokenDoor } from './breakers/broken-server.ts';
import type { Breaker } from './breakers/faults.ts';
import { ownOf, type Subject, trialOver } from './subject.ts';

/** They wait for seconds, or send much: most of the time of a suite. */
const SLOW = [
  'envelope.size',
  'idempotency.at-once',
  'large.by-reference',
  'errors.given-up',
  'ttl.repeat',
  'cancel.stops',
  'tasks.async',
  'tasks.stream',
  'e2e.evidence',
];
/** They measure time, and are right only where nothing else is asked. */
export const ALONE = CHECKS.filter(({ alone }) => alone).map(({ id }) => id);

const allBut = (left: readonly string[], own: string): readonly string[] =>
  CHECKS.map(({ id }) => id).filter((id) => id === own || !left.includes(id));

/** What is quick, and the check that is to find it. */
export const quickChecks = ({ breaks }: Breaker) => allBut([...SLOW, ...ALONE], breaks);
/** What does not mind that others ask too, and the check that is to find it. */
export const sociableChecks = ({ breaks }: Breaker) => allBut(ALONE, breaks);

/**
 * The rules that the suite finds broken, or cannot ask for. What it finds besides the one that is
 * broken is asked once more, by itself: on a busy machine an answer may be late.
 *
 * @param only ids of the checks to make; default all
 */
export async function foundBroken(
  subject: Subject,
  { breaks, fault }: Breaker,
  only: readonly string[] = [],
): Promise<readonly Finding[]> {
  const door = await openBrokenDoor(subject.origin, fault(ownOf(subject)));
  const faultsOf = async (ids: readonly string[]) => {
    const { findings } = await runSuite({ ...trialOver(door.url, subject.credentials), only: ids });
    return findings.filter(({ verdict }) => verdict !== 'kept');
  };
  try {
    const first = await faultsOf(only);
    const others = first.filter(({ id }) => id !== breaks).map(({ id }) => id);
    if (others.length === 0) return first;
    const again = await faultsOf(others);
    return [...first.filter(({ id }) => id === breaks), ...again];
  } finally {
    await door.close();
  }
}
