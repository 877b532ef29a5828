/** The suite against the program as it is delivered, over HTTP: every rule is kept. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CHECKS, type Finding, runSuite } from '../../cli/conformance/suite.ts';
import { embeddedSubject, faultsIn, type Subject, trialOver } from './subject.ts';

let subject: Subject;

beforeAll(async () => {
  subject = await embeddedSubject();
}, 60_000);
afterAll(() => subject.close());

it('keeps every rule and skips none', { timeout: 120_000 }, async () => {
  const told: Finding[] = [];
  const { findings, resent } = await runSuite({
    ...trialOver(subject.origin, subject.credentials),
    onFinding: (finding) => told.push(finding),
  });
  expect(faultsIn(findings)).toEqual([]);
  expect(findings.map(({ id }) => id)).toEqual(CHECKS.map(({ id }) => id));
  expect(told).toEqual(findings);
  expect(resent).toBe(0);
});
