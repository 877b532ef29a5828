/**
 * What is wrong with a configuration, all of it in one report.
 *
 * Invariant: no problem holds the value of a secret.
 */
import { TroupeError } from '../../../protocols/errors.ts';

export type Problem = {
  /** as a person writes it: `agents.agents[0].id`; empty for the whole document */
  readonly path: string;
  /** what is wrong, and what to do */
  readonly message: string;
  /** the value found, short, `***` for a secret; absent where none or a whole section is meant */
  readonly value?: string;
  /** what is allowed instead */
  readonly allowed?: string;
  /** `file:line:column`, an environment variable or a flag; absent for a default */
  readonly where?: string;
};

/**
 * The configuration cannot be used. `problems` has at least one.
 *
 * @example
 * ```ts
 * import { ConfigError, startTroupe } from 'troupe/agents';
 *
 * const failure = await startTroupe({ data: 'data', settings: { log: { level: 'loud' } } }).catch(
 *   (error: unknown) => error,
 * );
 * assert.ok(failure instanceof ConfigError);
 * assert.equal(failure.problems[0]?.path, 'log.level');
 * ```
 */
export class ConfigError extends TroupeError {
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super('INVALID_ARGUMENT', report(problems), { details: { problems } });
    this.problems = problems;
  }
}

/** Several lines for a terminal. */
export function report(problems: readonly Problem[]): string {
  const count = problems.length === 1 ? 'one problem' : `${problems.length} problems`;
  return [`the configuration has ${count}:`, ...problems.map(paragraph)].join('\n');
}

/** In one line, to follow the path: `= 6 is not allowed (allowed: a whole number from 0 to 5)`. */
export function problemText({ message, value, allowed }: Problem): string {
  const found = value === undefined ? '' : `= ${value} `;
  return `${found}${message}${allowed ? ` (allowed: ${allowed})` : ''}`;
}

function paragraph({ path, message, value, allowed, where }: Problem): string {
  const subject = path === '' ? 'the file' : path;
  const found = value === undefined ? '' : ` = ${value}`;
  const lines = [`  ${subject}${found}${where ? ` (${where})` : ''}`, `      ${message}`];
  if (allowed) lines.push(`      allowed: ${allowed}`);
  return lines.join('\n');
}
