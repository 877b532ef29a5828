/**
 * Tools: what a model may call. A tool says what it needs, how often it may run, and runs.
 *
 * Boundary: policy (who may call what), approval and sandbox come before; the effect host calls
 * `run` and decides about another try by the tool's class.
 */
import type { Static, TSchema } from '@sinclair/typebox';

/**
 * What another run of the same call does: `repeatable` = nothing; `keyed` = nothing, if the
 * receiver gets the same idempotency key; `once` = it must not be: an unknown outcome is told,
 * never tried again.
 */
export type ToolClass = 'repeatable' | 'keyed' | 'once';

export type ToolContext = {
  readonly signal: AbortSignal;
  /** the same for every attempt of one call */
  readonly idempotencyKey: string;
  /** shard time of the call, milliseconds since the epoch: the tool's only clock */
  readonly now: number;
};

/**
 * `isError`: the call did not do what was asked; `text` tells the model why and what to do instead.
 */
export type ToolResult = { readonly text: string; readonly isError?: boolean };

export type Tool<Parameters extends TSchema = TSchema> = {
  /** `[A-Za-z0-9_-]{1,64}`, the narrowest rule of the providers */
  readonly name: string;
  /** for the model */
  readonly description: string;
  /** of an object */
  readonly parameters: Parameters;
  readonly class: ToolClass;
  /** may run at the same time as the other calls of its message */
  readonly parallel: boolean;
  /**
   * An expected failure is a result with `isError`. @throws only for an operating failure (the
   * connection is lost), which the host may try again, and CANCELLED when `signal` says so
   */
  run(args: Static<Parameters>, context: ToolContext): Promise<ToolResult>;
};

/** A tool whose arguments are typed by its own schema, as one of a list of any tools. */
export const defineTool = <Parameters extends TSchema>(tool: Tool<Parameters>): Tool =>
  // right because the registry checks the arguments against this very schema before `run` sees them
  tool;
