/**
 * ActionResult: what an action of the session's chart changes, and what it requests from the host.
 * `setup.ts` converts it to actions of the host.
 */
import { type RunEvent, type SessionEntry, runEventsTopic } from '../../protocols/session.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type { Project, Publish, Reply, Tell } from '../../protocols/statechart.ts';
import * as kit from '../kit/handlers.ts';
import type { CallModelFailure, Run, SessionContext, SessionEvent } from './types.ts';

export type ActionArgs = kit.ActionArgs<SessionContext, SessionEvent>;
/** The arguments of a handler of these events. */
export type ArgsOf<T extends SessionEvent['type']> = kit.ActionArgs<
  SessionContext,
  Extract<SessionEvent, { type: T }>
>;
export const { on } = kit.handlersOf<SessionContext, SessionEvent>();
export { metaOf, nowOf, outputOf } from '../kit/handlers.ts';

/** The error of a failed effect, also of a model call that failed after it built the prompt. */
export const errorOf = (event: object): ErrorData =>
  callFailureOf(event)?.failure ?? kit.errorOf(event);

export function callFailureOf(event: object): CallModelFailure | undefined {
  const output: unknown = 'output' in event ? event.output : undefined;
  const isFailure = typeof output === 'object' && output !== null && 'failure' in output;
  return isFailure ? (output as CallModelFailure) : undefined;
}

export type ActionResult = {
  readonly change?: Partial<SessionContext>;
  readonly entries?: readonly SessionEntry[];
  readonly events?: readonly RunEventBody[];
  readonly rows?: readonly Project[];
  readonly tells?: readonly Tell[];
  readonly answer?: Reply;
  /** to calls that waited */
  readonly answers?: readonly Reply[];
};

/** An event of a run without its common fields. `runId` defaults to the current run. */
export type RunEventBody = DistributiveOmit<RunEvent, 'sessionKey' | 'at' | 'runId'> & {
  runId?: string;
};
type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

/** The run. Call it only in states that have one. */
export const runOf = ({ run }: SessionContext): Run => run!;
export const withRun = (
  context: SessionContext,
  fields: Partial<Run>,
): Pick<SessionContext, 'run'> => ({ run: { ...runOf(context), ...fields } });

export const published = (
  { tenant, sessionKey, run }: SessionContext,
  body: RunEventBody,
  at: number,
): Publish => {
  const event: RunEvent = { runId: run?.runId ?? '', sessionKey, at, ...body };
  return { topic: runEventsTopic(tenant, sessionKey), event: { type: 'run', ...event } };
};

/** The fields that have a value: rows and entries hold no undefined. */
export function defined<T extends Record<string, unknown>>(
  fields: T,
): { [K in keyof T]?: NonNullable<T[K]> } {
  const kept: Record<string, unknown> = {};
  for (const key in fields) {
    const value = fields[key];
    if (value !== undefined && value !== null) kept[key] = value;
  }
  return kept as never;
}
