/**
 * ActionResult: what a named action of the session's chart changes, and what it requests from the
 * host. Actions are pure functions of context and event. The chart decides when they run;
 * `setup.ts` applies their results.
 */
import type { ErrorData } from '../../protocols/errors.ts';
import {
  type RunEvent,
  type SessionEntry,
  type Usage,
  runEventsTopic,
} from '../../protocols/session.ts';
import type { Meta, Project, Publish, Reply, Tell } from '../../protocols/statechart.ts';
import type { Run, SessionContext } from './types.ts';

/** What a deed is a function of. Outcomes and timers carry `meta`, too: the host sends it. */
export type ActionArgs = { readonly context: SessionContext; readonly event: unknown };

export type ActionResult = {
  readonly change?: Partial<SessionContext>;
  readonly entries?: readonly SessionEntry[];
  readonly events?: readonly RunEventBody[];
  readonly rows?: readonly Project[];
  readonly tells?: readonly Tell[];
  readonly answer?: Reply;
  /** of calls that have waited */
  readonly answers?: readonly Reply[];
};

/** An event of a run without what every one has. `runId` default the run's. */
export type RunEventBody = DistributiveOmit<RunEvent, 'sessionKey' | 'at' | 'runId'> & {
  runId?: string;
};
type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

export const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0 };

export const nowOf = (event: unknown): number => (event as { meta: Meta }).meta.now;
export const metaOf = (event: unknown): Meta => (event as { meta: Meta }).meta;
/** What an effect came to. */
export const outputOf = <Output>(event: unknown): Output => (event as { output: Output }).output;
/** Effects fail with ErrorData: the runtime makes it of whatever was thrown. */
export const errorOf = (event: unknown): ErrorData => (event as { error: ErrorData }).error;

/** The run; asked for only in states that have one. */
export const runOf = ({ run }: SessionContext): Run => run!;
export const withRun = (
  context: SessionContext,
  fields: Partial<Run>,
): Pick<SessionContext, 'run'> => ({ run: { ...runOf(context), ...fields } });

export const published = (
  { tenant, sessionKey, run }: SessionContext,
  told: RunEventBody,
  at: number,
): Publish => {
  const event: RunEvent = { runId: run?.runId ?? '', sessionKey, at, ...told };
  return { topic: runEventsTopic(tenant, sessionKey), event: { type: 'run', ...event } };
};

export const sum = (a: Usage, b: Usage): Usage => ({
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  ...(a.costUsd === undefined && b.costUsd === undefined
    ? {}
    : { costUsd: (a.costUsd ?? 0) + (b.costUsd ?? 0) }),
});

/** The first characters; one beyond the basic plane is never cut in half. */
export const firstOf = (text: string, characters: number): string => {
  const cut = text.slice(0, characters);
  return /[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut;
};

/** The fields that have a value: rows and entries hold no undefined. */
export function defined<T extends Record<string, unknown>>(
  fields: T,
): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  ) as never;
}
