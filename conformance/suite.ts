/**
 * Suite: all checks, and the report of their results.
 *
 * Invariants:
 *  1. Checks are independent: each has its own tasks, subjects and keys. Several run concurrently;
 *     those that measure time run alone, after the others.
 *  2. The report is in the order of CHECKS, whatever the order of completion.
 */
import { defined } from '../protocols/defined.ts';
import type { Check } from './check.ts';
import { evidenceChecks, largePayloadChecks } from './checks/artifacts.ts';
import { endToEndChecks } from './checks/end-to-end.ts';
import { envelopeChecks } from './checks/envelope.ts';
import { discoveryChecks, errorChecks, versionChecks } from './checks/errors.ts';
import { idempotencyChecks, orderChecks, ttlChecks } from './checks/repeats.ts';
import { securityChecks } from './checks/security.ts';
import { cancelChecks, taskChecks } from './checks/tasks.ts';
import { ResendingEndpoint } from './resending-endpoint.ts';
import { Skipped, Trial, type TrialOptions } from './trial.ts';

export const CHECKS: readonly Check[] = [
  ...envelopeChecks,
  ...idempotencyChecks,
  ...errorChecks,
  ...securityChecks,
  ...largePayloadChecks,
  ...orderChecks,
  ...ttlChecks,
  ...evidenceChecks,
  ...versionChecks,
  ...cancelChecks,
  ...taskChecks,
  ...discoveryChecks,
  ...endToEndChecks,
];

export type Finding = {
  readonly id: string;
  readonly part: string;
  readonly rule: string;
  readonly verdict: 'kept' | 'broken' | 'skipped';
  /** what happened instead, or why it was skipped */
  readonly why?: string;
  readonly ms: number;
};

export type Report = {
  /** in the order of CHECKS */
  readonly findings: readonly Finding[];
  /** number of retries after a missing answer or UNAVAILABLE */
  readonly resent: number;
};

export type SuiteOptions = TrialOptions & {
  /** only checks whose id has this prefix */
  readonly only?: readonly string[];
  /** concurrent checks, except those that measure time; default 8 */
  readonly atOnce?: number;
  /** called for each result in the order of CHECKS */
  readonly onFinding?: (finding: Finding) => void;
};

const AT_ONCE = 8;

export async function runSuite(options: SuiteOptions): Promise<Report> {
  const { only = [], atOnce = AT_ONCE, onFinding } = options;
  const chosen = CHECKS.filter(
    ({ id }) => only.length === 0 || only.some((prefix) => id.startsWith(prefix)),
  );
  const endpoint = new ResendingEndpoint(options.endpoint);
  const trial = new Trial({ ...options, endpoint });
  const findings: Finding[] = [];
  let reported = 0;
  const make = async (check: Check): Promise<void> => {
    findings[chosen.indexOf(check)] = await find(check, trial);
    for (let next = findings[reported]; next; next = findings[++reported]) onFinding?.(next);
  };
  await eachOf(
    chosen.filter(({ alone }) => !alone),
    atOnce,
    make,
  );
  await eachOf(
    chosen.filter(({ alone }) => alone),
    1,
    make,
  );
  return { findings, resent: endpoint.resent };
}

async function eachOf(
  checks: readonly Check[],
  atOnce: number,
  make: (check: Check) => Promise<void>,
): Promise<void> {
  const waiting = [...checks];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) await make(next);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

async function find({ id, part, rule, run }: Check, trial: Trial): Promise<Finding> {
  const startedAt = performance.now();
  const found = (verdict: Finding['verdict'], why?: string): Finding => ({
    id,
    part,
    rule,
    verdict,
    ...defined({ why }),
    ms: Math.round(performance.now() - startedAt),
  });
  try {
    await run(trial);
    return found('kept');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return found(error instanceof Skipped ? 'skipped' : 'broken', why);
  }
}
