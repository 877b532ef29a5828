/**
 * defineProcess: a saga as its author writes it, and the action that requests it. Steps run in
 * sequence; each has an action, its verification, and its compensation.
 *
 * Boundary: these are definitions. The functions of a definition run in effects (plan.ts) and may
 * be called again with the same arguments: they must be pure.
 */
import type { Static, TSchema } from '@sinclair/typebox';
import { parseAction } from '../../protocols/envelope.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { processAddress } from '../../protocols/process.ts';
import { ETA_SEC_DEFAULT, ETA_SEC_MAX } from '../../protocols/task.ts';
import { patternInWords } from '../../protocols/pattern-words.ts';
import { type ActionDefinition, defineAction } from '../task/action.ts';

export const STEPS_MAX = 32;

/** The arguments of a function that creates a payload. */
export type About = {
  /** id of this run of the process; evidence is stored with it as the job */
  readonly processId: string;
  /** the task of the step's own work, to verify or undo it; empty for that work itself */
  readonly taskId: string;
  /** the result of that work; absent if there is none */
  readonly result?: unknown;
  /** the result of the compensation, to verify it */
  readonly undone?: unknown;
};

/** Results of the steps that are done, by name. */
export type Results = Readonly<Record<string, unknown>>;

/** Fields of a payload; the default of `schema_version` is 1.0. */
export type PayloadOf<Input> = (
  input: Input,
  results: Results,
  about: About,
) => Readonly<Record<string, unknown>>;

/** One requested action. */
export type Call<Input> = {
  readonly action: string;
  readonly version: string;
  readonly payload: PayloadOf<Input>;
};

export type Compensation<Input> = Call<Input> & {
  /** as of a step: by another agent than the compensation's */
  readonly verify?: Call<Input>;
};

export type Step<Input> = Call<Input> & {
  /** unique in the process; [a-z][a-z0-9_]* */
  readonly name: string;
  /**
   * Verifies the step. Its result is an Evidence; the step is done when its verdict is `verified`.
   * Its action belongs to another agent than the step's.
   */
  readonly verify?: Call<Input>;
  /**
   * Undoes the step, or the part that may have been done; it must succeed when there is nothing to
   * undo.
   */
  readonly compensate?: Compensation<Input>;
  /** seconds that the step adds to the time limit of the process; default 300 */
  readonly etaSec?: number;
};

export type ProcessOptions<Schema extends TSchema> = {
  /** `{domain}.{verb}_{object}`: the action that starts it */
  readonly action: string;
  /** semantic version */
  readonly version: string;
  readonly description: string;
  /** the agent that offers it; default `process` */
  readonly agent?: string;
  /** of the payload that starts it */
  readonly payload: Schema;
  /** of that payload; default 1.0 */
  readonly schemaVersion?: string;
  readonly steps: readonly Step<Static<Schema>>[];
  /** creates the final result from the results of the steps; default all of them, by step */
  readonly result?: (input: Static<Schema>, results: Results) => unknown;
  /** a caller with any of these roles may request it; default all callers */
  readonly roles?: readonly string[];
};

/** A process in the catalog: its input is plain JSON. */
export type ProcessDefinition = {
  readonly kind: 'process';
  readonly action: string;
  readonly version: string;
  readonly description: string;
  readonly agent: string;
  readonly schemas: Readonly<Record<string, TSchema>>;
  readonly steps: readonly Step<unknown>[];
  readonly result?: (input: unknown, results: Results) => unknown;
  readonly roles?: readonly string[];
};

const NAME = /^[a-z][a-z0-9_]{0,62}$/;

/**
 * Defines a saga: steps in sequence, each an action. When one fails, those that are done are
 * compensated, the latest first.
 *
 * @throws TroupeError INVALID_ARGUMENT that names the process, the step and what is wrong
 * @example
 * ```ts
 * import { Type } from '@sinclair/typebox';
 * import { defineProcess } from 'troupe/agents';
 *
 * const bookTrip = defineProcess({
 *   action: 'travel.book_trip',
 *   version: '1.0.0',
 *   description: 'Books a seat in a city.',
 *   payload: Type.Object({ city: Type.String() }),
 *   steps: [
 *     {
 *       name: 'seat',
 *       action: 'airline.book_seat',
 *       version: '1.0.0',
 *       payload: ({ city }) => ({ city }),
 *       compensate: {
 *         action: 'airline.cancel_seat',
 *         version: '1.0.0',
 *         payload: ({ city }) => ({ city }),
 *       },
 *     },
 *   ],
 * });
 * assert.equal(bookTrip.kind, 'process');
 * ```
 */
export function defineProcess<const Schema extends TSchema>(
  options: ProcessOptions<Schema>,
): ProcessDefinition {
  const wrong = (what: string): never => {
    throw new TroupeError('INVALID_ARGUMENT', `the process ${options.action}: ${what}`);
  };
  const { payload, schemaVersion = '1.0', steps, agent = 'process', result, ...rest } = options;
  if (parseAction(options.action).cancel) wrong('a name that ends in .cancel is made by itself');
  if (steps.length === 0 || steps.length > STEPS_MAX) wrong(`give it 1 to ${STEPS_MAX} steps`);
  const names = new Set<string>();
  for (const { name, action, verify, compensate } of steps) {
    if (!NAME.test(name))
      wrong(
        `${JSON.stringify(name)} is not a step name: it must be ${patternInWords(NAME.source)}`,
      );
    if (names.has(name)) wrong(`two steps are called ${name}`);
    names.add(name);
    for (const call of [{ action }, verify, compensate, compensate?.verify])
      if (call && parseAction(call.action).cancel) wrong(`${name}: ${call.action} cancels a task`);
  }
  return {
    ...rest,
    kind: 'process',
    agent,
    schemas: { [schemaVersion]: payload },
    // The entry point checked the input against `payload`.
    steps: steps,
    ...(result ? { result: result } : {}),
  };
}

/** The time of all steps in sequence. A compensation has the task's own time limit. */
const etaOf = ({ steps }: ProcessDefinition): number =>
  Math.min(
    ETA_SEC_MAX,
    steps.reduce((sum, { etaSec = ETA_SEC_DEFAULT }) => sum + etaSec, 0),
  );

/** The action that starts the process; for callers it is a task like any other. */
export const actionOf = (process: ProcessDefinition): ActionDefinition =>
  defineAction({
    action: process.action,
    version: process.version,
    description: process.description,
    schemas: process.schemas,
    agent: process.agent,
    actor: (envelope, taskId) => processAddress(envelope.tenant_id, taskId),
    withdraws: true,
    etaSec: etaOf(process),
    // Its steps are retried individually; the outcome of the process itself is final.
    attemptsMax: 1,
    ...(process.roles ? { roles: process.roles } : {}),
  });
