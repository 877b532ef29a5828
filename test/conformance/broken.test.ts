/**
 * The suite can fail: for every rule there is an endpoint that breaks it, and the suite finds that
 * rule broken there, and no other. Most runs leave out slow checks that are not their own; all of
 * all, one after the other, is `node tools/run.mjs test/conformance/run.ts`.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { CHECKS } from '../../conformance/suite.ts';
import { BREAKERS } from './breakers/breakers.ts';
import { foundBroken, quickChecks, sociableChecks } from './proof.ts';
import { embeddedSubject, faultsIn, type Subject } from './subject.ts';

/** Of so many endpoints one is asked for all that does not mind that others ask too. */
const MORE_EACH = 16;

it('has an endpoint for every rule that breaks it, in the order of the rules', () => {
  expect(BREAKERS.map(({ breaks }) => breaks)).toEqual(CHECKS.map(({ id }) => id));
});

it('has no two rules of which one has the name of the other at its beginning', () => {
  const ids = CHECKS.map(({ id }) => id);
  for (const id of ids) expect(ids.filter((other) => other.startsWith(id))).toEqual([id]);
});

describe.concurrent('an endpoint that', { timeout: 300_000 }, () => {
  let subject: Subject;
  beforeAll(async () => {
    subject = await embeddedSubject();
    return () => subject.close();
  }, 60_000);

  for (const [at, breaker] of BREAKERS.entries())
    it(`${breaker.how} breaks ${breaker.breaks}, and only that`, async () => {
      const checks = at % MORE_EACH === 0 ? sociableChecks(breaker) : quickChecks(breaker);
      const found = await foundBroken(subject, breaker, checks);
      const isBroken = expect.stringMatching(`^${breaker.breaks} is broken`) as string;
      expect(faultsIn(found)).toEqual([isBroken]);
    });
});
