/** Proof: the suite's result for an endpoint that breaks one rule. */
import { CHECKS, type Finding, runSuite } from '../../conformance/suite.ts';
import { openBrokenServer } from './breakers/broken-server.ts';
import type { Breaker } from './breakers/faults.ts';
import { ownOf, type Subject, trialOver } from './subject.ts';

/** They wait for seconds or send much: most of the time of a suite. */
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
/** They measure time, which is only correct when nothing else runs. */
export const ALONE = CHECKS.filter(({ alone }) => alone).map(({ id }) => id);

const allBut = (left: readonly string[], own: string): readonly string[] =>
  CHECKS.map(({ id }) => id).filter((id) => id === own || !left.includes(id));

/** The fast checks, and the check that must find the fault. */
export const quickChecks = ({ breaks }: Breaker) => allBut([...SLOW, ...ALONE], breaks);
/** The checks that may run concurrently, and the check that must find the fault. */
export const sociableChecks = ({ breaks }: Breaker) => allBut(ALONE, breaks);

/**
 * The rules that the suite reports as broken or skipped. Unexpected ones are checked once more,
 * alone, because an answer may be late on a busy machine.
 *
 * @param only ids of the checks to run; default all
 */
export async function foundBroken(
  subject: Subject,
  { breaks, fault }: Breaker,
  only: readonly string[] = [],
): Promise<readonly Finding[]> {
  const broken = await openBrokenServer(subject.origin, fault(ownOf(subject)));
  const faultsOf = async (ids: readonly string[]) => {
    const { findings } = await runSuite({
      ...trialOver(broken.url, subject.credentials),
      only: ids,
    });
    return findings.filter(({ verdict }) => verdict !== 'kept');
  };
  try {
    const first = await faultsOf(only);
    const others = first.filter(({ id }) => id !== breaks).map(({ id }) => id);
    if (others.length === 0) return first;
    const again = await faultsOf(others);
    return [...first.filter(({ id }) => id === breaks), ...again];
  } finally {
    await broken.close();
  }
}
