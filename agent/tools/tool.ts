/**
 * Tools: what a model may call. A tool declares its parameters, class and limits, and runs a call.
 *
 * Boundary: policy (who may call what), approval and sandbox are applied before. The effect host
 * calls `run`, and the tool's class decides whether a call may be retried.
 */
import type { Static, TSchema } from '@sinclair/typebox';
import type { Address } from '../../protocols/address.ts';
import type { CheckError } from '../../protocols/check.ts';
import type { ImagePart } from '../../protocols/content.ts';
import type { Usage } from '../../protocols/models/model-usage.ts';
import type { SentMessage } from '../../protocols/session.ts';
import type { Message } from '../../protocols/statechart.ts';
import type { AskAnswer, Index, TranscriptReader } from '../../runtime/index.ts';
import type { ModelCatalog } from '../models/catalog.ts';
import type { TalkRules } from '../policy/talk.ts';
import type { SecretMask } from './secret-mask.ts';

/**
 * The effect of repeating a call. `repeatable`: none. `keyed`: none, if the receiver gets the same
 * idempotency key. `once`: it must not be repeated; an unknown outcome is reported and never
 * retried.
 */
export type ToolClass = 'repeatable' | 'keyed' | 'once';

export type ToolContext = {
  readonly signal: AbortSignal;
  /** the same for every attempt of one call */
  readonly idempotencyKey: string;
  /** shard time of the call, milliseconds since the epoch; a tool uses no other clock */
  readonly now: number;
  readonly tenant: string;
  readonly agentId: string;
  readonly sessionKey: string;
  readonly runId: string;
  /** id of this call, chosen by the model */
  readonly callId: string;
  /** where it may read, write and run; decided in `policy/confinement.ts` */
  readonly confinement: Confinement;
  /**
   * The agent's folder. The call waits until other tools of the agent have closed it. Changes are
   * saved when the call succeeds.
   *
   * @throws TroupeError UNAVAILABLE when it cannot be reached
   */
  workspace(): Promise<{ readonly path: string }>;
  /** whose workspace it is: of the agent or subagent, or of the one that a subagent works for */
  readonly workspaceOf: Address;
  /** Publishes new output to watchers; it is never part of the result. */
  update(delta: string): void;
  /** Sends messages to actors of the tenant and reads committed rows. */
  readonly system: ToolSystem;
  /** what agents may do with sessions of other agents; checked with `judge` */
  readonly talk: TalkRules;
  /** the models that a call may name */
  readonly models: Pick<ModelCatalog, 'resolve' | 'thinkingLevels'>;
  /** The tools of this installation, with the names that lists use. */
  readonly installed: readonly Pick<Tool, 'name' | 'aliases' | 'groups'>[];
  /** For a subagent: the tools that its parent granted, as lists. */
  readonly given?: { readonly allow: readonly string[]; readonly deny: readonly string[] };
  /** Environment variables from skills, for commands. Logs contain only their names. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * Masks known secret values. The registry masks every result. A tool that cuts a text masks it
   * first, because a cut could leave a part of a value.
   */
  readonly secrets: SecretMask;
};

/** What a call may access. */
export type Confinement = {
  /** true: behind the boundary; false: on the host as the user who runs troupe */
  readonly sandboxed: boolean;
  readonly workspaceAccess: 'ro' | 'rw' | 'none';
};

/** Access to actors. With an idempotency key (the call's own), a repeated call changes nothing. */
export type ToolSystem = {
  ask(
    to: Address,
    event: Message,
    options?: { readonly timeoutMs?: number; readonly key?: string },
  ): Promise<AskAnswer>;
  index(): Promise<Index>;
  /** Reads the committed transcript of an actor of the tenant. */
  transcript(of: Address): TranscriptReader;
};

/** `isError`: the call failed; `text` tells the model why and what to do instead. */
export type ToolResult = {
  readonly text: string;
  readonly isError?: boolean;
  /** images for the model; the registry applies the limits */
  readonly images?: readonly ImagePart[];
  /** messages to users */
  readonly sent?: readonly SentMessage[];
  /** what models used that the tool asked; it counts as usage of the run */
  readonly usage?: Usage;
  /** ids of subagents whose end this result reports; no separate report follows */
  readonly ends?: readonly string[];
};

export type Tool<Parameters extends TSchema = TSchema> = {
  /** `[A-Za-z0-9_-]{1,64}`, the strictest rule of the providers */
  readonly name: string;
  /** other names that models and policies may use: `bash` for `exec` */
  readonly aliases?: readonly string[];
  /** `fs`, `web`, `runtime`, …: matched by `group:fs` in a policy */
  readonly groups?: readonly string[];
  /** description for the model */
  readonly description: string;
  /** schema of an object */
  readonly parameters: Parameters;
  /** checks arguments against `parameters` that are not of TypeBox; [] when they are valid */
  check?(args: unknown): readonly CheckError[];
  readonly class: ToolClass;
  /** overrides `class` when it depends on the arguments */
  classOf?(args: Static<Parameters>): ToolClass;
  /**
   * whether it changes only files of the workspace. If another worker saved the workspace
   * meanwhile, the call's changes are discarded and it runs again, whatever its class. Default
   * false
   */
  readonly onlyFiles?: boolean;
  /** may run concurrently with the other calls of its message */
  readonly parallel: boolean;
  /** time limit of a call, milliseconds; default 120,000, at most the run's time */
  readonly timeoutMs?: number;
  /**
   * maximum result size, bytes of UTF-8; default 65,536. For tools that limit their JSON themselves
   */
  readonly resultBytesMax?: number;
  /**
   * returns why the tool cannot run here (no browser, no search provider); then it is not offered
   */
  unavailable?(): string | undefined;
  /** The approval that a call needs; undefined: none. Patterns match `command`. */
  question?(args: Static<Parameters>): ToolQuestion | undefined;
  /**
   * Expected failures are results with `isError`. @throws only for operating failures (such as a
   * lost connection), which the host may retry, and CANCELLED when `signal` is aborted
   */
  run(args: Static<Parameters>, context: ToolContext): Promise<ToolResult>;
  /**
   * Called when the process stops: ends what calls left running (background commands, a browser).
   */
  close?(): Promise<void>;
};

export type ToolQuestion = {
  readonly command: string;
  readonly detail: string;
  /**
   * a word that identifies what the command reaches: a permission of "always" is for it only; a
   * pattern of the configuration without it is for any
   */
  readonly target?: string;
  /**
   * `host` (default): asked outside of sandboxes, as `tools.exec.ask` says. `outside`: the call
   * acts on something that no sandbox confines, so it is asked in every session, unless a pattern
   * allows it. `each-call`: no pattern allows it either
   */
  readonly scope?: 'host' | 'outside' | 'each-call';
};

/**
 * Defines a tool whose arguments have the type of its schema.
 *
 * @example
 * ```ts
 * import { Type } from '@sinclair/typebox';
 * import { defineTool } from 'troupe/agents';
 *
 * const postage = defineTool({
 *   name: 'postage',
 *   description: 'Returns the postage of a letter, in cents.',
 *   parameters: Type.Object({ grams: Type.Integer({ minimum: 1 }) }),
 *   class: 'repeatable',
 *   parallel: true,
 *   run: async ({ grams }) => ({ text: String(grams <= 20 ? 85 : 160) }),
 * });
 * assert.equal(postage.name, 'postage');
 * ```
 */
export const defineTool = <Parameters extends TSchema>(tool: Tool<Parameters>): Tool =>
  // sound: the registry validates the arguments against this schema before `run`
  tool;
