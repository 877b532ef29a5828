/** The suite against the built program over HTTP: every rule is kept. */
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { CHECKS, type Finding, runSuite } from '../../conformance/suite.ts';
import { type Fault, openBrokenServer } from './breakers/broken-server.ts';
import { say } from './breakers/faults.ts';
import { embeddedSubject, faultsIn, type Subject, trialOver } from './subject.ts';

let subject: Subject;

beforeAll(async () => {
  subject = await embeddedSubject();
  return () => subject.close();
}, 60_000);

it('keeps every rule and skips none', { timeout: 120_000 }, async () => {
  const reported: Finding[] = [];
  const { findings, resent } = await runSuite({
    ...trialOver(subject.origin, subject.credentials),
    onFinding: (finding) => reported.push(finding),
  });
  expect(faultsIn(findings)).toEqual([]);
  expect(findings.map(({ id }) => id)).toEqual(CHECKS.map(({ id }) => id));
  expect(reported).toEqual(findings);
  expect(resent).toBe(0);
});

/** Replaces every seventh answer by a 503 after the request was executed. */
const losingAnswers = (): Fault => {
  let answers = 0;
  return async (asked, pass) => {
    const answer = await pass(asked);
    return ++answers % 7 === 0 ? say(503, { error: { code: 'UNAVAILABLE', message: '' } }) : answer;
  };
};

it('keeps every rule for a client that retries unanswered requests', {
  timeout: 120_000,
}, async () => {
  const broken = await openBrokenServer(subject.origin, losingAnswers());
  onTestFinished(() => broken.close());
  const { findings, resent } = await runSuite(trialOver(broken.url, subject.credentials));
  expect(faultsIn(findings)).toEqual([]);
  expect(resent).toBeGreaterThan(10);
});

it('is reported immediately when no server answers', { timeout: 30_000 }, async () => {
  const broken = await openBrokenServer(subject.origin, losingAnswers());
  await broken.close();
  const trial = trialOver(broken.url, subject.credentials);
  const { findings, resent } = await runSuite({ ...trial, only: ['envelope.'] });
  expect(findings.map(({ verdict }) => verdict)).toEqual(findings.map(() => 'broken'));
  expect(resent).toBe(0);
});
