/** Suite: all checks, run one after the other, and the report of what they found. */
import type { Check } from './check.ts';
import { evidenceChecks, largePayloadChecks } from './checks/artifacts.ts';
import { endToEndChecks } from './checks/end-to-end.ts';
import { envelopeChecks } from './checks/envelope.ts';
import { discoveryChecks, errorChecks, versionChecks } from './checks/errors.ts';
import { idempotencyChecks, orderChecks, ttlChecks } from './checks/repeats.ts';
import { securityChecks } from './checks/security.ts';
import { cancelChecks, taskChecks } from './checks/tasks.ts';
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
  /** what came instead, or why it was skipped */
  readonly why?: string;
  readonly ms: number;
};

export type SuiteOptions = TrialOptions & {
  /** only checks whose id begins so */
  readonly only?: readonly string[];
  readonly onFinding?: (finding: Finding) => void;
};

export async function runSuite(options: SuiteOptions): Promise<readonly Finding[]> {
  const { only = [], onFinding } = options;
  const chosen = CHECKS.filter(
    ({ id }) => only.length === 0 || only.some((prefix) => id.startsWith(prefix)),
  );
  const trial = new Trial(options);
  const findings: Finding[] = [];
  for (const check of chosen) {
    const finding = await find(check, trial);
    findings.push(finding);
    onFinding?.(finding);
  }
  return findings;
}

async function find({ id, part, rule, run }: Check, trial: Trial): Promise<Finding> {
  const startedAt = performance.now();
  const found = (verdict: Finding['verdict'], why?: string): Finding => ({
    id,
    part,
    rule,
    verdict,
    ...(why === undefined ? {} : { why }),
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
