/**
 * The suite can fail: for every rule there is an endpoint that breaks it, and the suite reports
 * this rule as broken and no other. Most runs omit slow checks of other rules; `node tools/run.mjs
 * test/conformance/run.ts` runs all checks sequentially.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { CHECKS } from '../../conformance/suite.ts';
import { BREAKERS } from './breakers/breakers.ts';
import { foundBroken, quickChecks, sociableChecks } from './proof.ts';
import { embeddedSubject, faultsIn, type Subject } from './subject.ts';

/** One in this number of endpoints is checked with all checks that may run concurrently. */
const MORE_EACH = 16;

it('has an endpoint for every rule that breaks it, in the order of the rules', () => {
  expect(BREAKERS.map(({ breaks }) => breaks)).toEqual(CHECKS.map(({ id }) => id));
});

it('has no rule id that is a prefix of another one', () => {
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
