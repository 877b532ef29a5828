/** Check: one rule of the envelope protocol, and how to test it. */
import type { Trial } from './trial.ts';

/** The parts of the suite, named as in the protocol. */
export const PARTS = [
  'envelope',
  'idempotency',
  'errors',
  'security',
  'large payload',
  'out of order',
  'ttl',
  'evidence',
  'version negotiation',
  'cancel and compensation',
  'tasks',
  'discovery',
  'end to end',
] as const;
export type Part = (typeof PARTS)[number];

export type Check = {
  /** stable; reports identify a rule by it */
  readonly id: string;
  readonly part: Part;
  /** the rule as a sentence */
  readonly rule: string;
  /** throws Violation or Skipped */
  readonly run: (trial: Trial) => Promise<void>;
  /**
   * whether it measures response times, so that no other check may run at the same time. Default
   * false
   */
  readonly alone?: boolean;
};

type Row = readonly [
  rule: string,
  run: (trial: Trial) => Promise<void>,
  more?: Pick<Check, 'alone'>,
];

export const checksOf = (part: Part, checks: Readonly<Record<string, Row>>): readonly Check[] =>
  Object.entries(checks).map(([id, [rule, run, more]]) => ({ id, part, rule, run, ...more }));
