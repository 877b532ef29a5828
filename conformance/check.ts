/** Check: one rule of the law, and how to find out whether it is kept. */
import type { Trial } from './trial.ts';

/** The parts of the suite, as the law names them. */
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
  /** stable; a broken rule is reported by it */
  readonly id: string;
  readonly part: Part;
  /** the rule as a sentence */
  readonly rule: string;
  /** throws Violation or Skipped */
  readonly run: (trial: Trial) => Promise<void>;
  /** it measures how fast an answer comes: nothing else may be asked meanwhile. Default false */
  readonly alone?: boolean;
};

type Row = readonly [
  rule: string,
  run: (trial: Trial) => Promise<void>,
  more?: Pick<Check, 'alone'>,
];

export const checksOf = (part: Part, checks: Readonly<Record<string, Row>>): readonly Check[] =>
  Object.entries(checks).map(([id, [rule, run, more]]) => ({ id, part, rule, run, ...more }));
