/**
 * Tools: what a model may call. A tool says what it needs, how often it may run, and runs.
 *
 * Boundary: policy (who may call what), approval and sandbox come before; the effect host calls
 * `run` and decides about another try by the tool's class.
 */
import type { Static, TSchema } from '@sinclair/typebox';
import type { Address } from '../../protocols/address.ts';
import type { ImagePart } from '../../protocols/content.ts';
import type { SentMessage } from '../../protocols/session.ts';
import type { Message } from '../../protocols/statechart.ts';
import type { AskAnswer, Index, TranscriptReader } from '../../runtime/index.ts';
import type { ModelCatalog } from '../models/catalog.ts';
import type { TalkRules } from '../policy/talk.ts';
import type { SecretMask } from './secret-mask.ts';

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
  readonly tenant: string;
  readonly agentId: string;
  readonly sessionKey: string;
  readonly runId: string;
  /** of this call, as the model named it */
  readonly callId: string;
  /** where it may read, write and run: one place decided it (`policy/sandboxed.ts`) */
  readonly confinement: Confinement;
  /**
   * The agent's folder. A tool that asks for it waits until other tools of the agent have closed
   * it; what it wrote is saved when the call ends well.
   *
   * @throws TroupeError UNAVAILABLE when it cannot be reached
   */
  workspace(): Promise<{ readonly path: string }>;
  /** Tells watchers what came since the last time; never part of the result. */
  update(delta: string): void;
  /** Messages to actors of the tenant, and committed rows. */
  readonly system: ToolSystem;
  /** what agents may do with each other's sessions; asked with `judge` */
  readonly talk: TalkRules;
  /** the models that a call may name */
  readonly models: Pick<ModelCatalog, 'resolve' | 'thinkingLevels'>;
  /** The tools of this installation, by what lists know them by. */
  readonly installed: readonly Pick<Tool, 'name' | 'aliases' | 'groups'>[];
  /** Of a subagent: what its parent gave it, as lists. */
  readonly given?: { readonly allow: readonly string[]; readonly deny: readonly string[] };
  /** Values that skills put into the environment of commands. Names only in logs. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * Replaces known secret values. The registry masks every result; a tool that cuts a text masks it
   * before the cut, which could leave a part of a value.
   */
  readonly secrets: SecretMask;
};

/** What a call may touch. */
export type Confinement = {
  /** true: behind the boundary; false: on the host as the user who runs troupe */
  readonly sandboxed: boolean;
  readonly workspaceAccess: 'ro' | 'rw' | 'none';
};

/** How a tool reaches actors. Under a key (the call's own) a repeat of a call changes nothing. */
export type ToolSystem = {
  ask(
    to: Address,
    event: Message,
    options?: { readonly timeoutMs?: number; readonly key?: string },
  ): Promise<AskAnswer>;
  index(): Promise<Index>;
  /** Committed transcript of an actor of the tenant. */
  transcript(of: Address): TranscriptReader;
};

/**
 * `isError`: the call did not do what was asked; `text` tells the model why and what to do instead.
 */
export type ToolResult = {
  readonly text: string;
  readonly isError?: boolean;
  /** what the model sees beside the text; cut to bounds by the registry */
  readonly images?: readonly ImagePart[];
  /** said to people by the tool itself */
  readonly sent?: readonly SentMessage[];
  /** ids of subagents whose ends it tells: they are not told again */
  readonly ends?: readonly string[];
};

export type Tool<Parameters extends TSchema = TSchema> = {
  /** `[A-Za-z0-9_-]{1,64}`, the narrowest rule of the providers */
  readonly name: string;
  /** other names that models and policies may use: `bash` for `exec` */
  readonly aliases?: readonly string[];
  /** `fs`, `web`, `runtime`, …: what `group:fs` in a policy means */
  readonly groups?: readonly string[];
  /** for the model */
  readonly description: string;
  /** of an object */
  readonly parameters: Parameters;
  readonly class: ToolClass;
  /** where one call may be repeated and another not: instead of `class` */
  classOf?(args: Static<Parameters>): ToolClass;
  /**
   * it changes nothing but files of the workspace: where another worker saved that meanwhile, which
   * gives up all it did, it is made again, whatever its class. Default false
   */
  readonly onlyFiles?: boolean;
  /** may run at the same time as the other calls of its message */
  readonly parallel: boolean;
  /** longest a call may take, milliseconds; default 120,000, at most the run's time */
  readonly timeoutMs?: number;
  /** longest result, bytes of UTF-8; default 65,536. For one that bounds itself, as JSON must */
  readonly resultBytesMax?: number;
  /** is not offered where this says why it cannot run here (no browser, no search provider) */
  unavailable?(): string | undefined;
  /**
   * What a person is asked before it runs on the host; undefined: nothing. The command is
   * what patterns are matched with.
   */
  question?(args: Static<Parameters>): ToolQuestion | undefined;
  /**
   * An expected failure is a result with `isError`. @throws only for an operating failure (the
   * connection is lost), which the host may try again, and CANCELLED when `signal` says so
   */
  run(args: Static<Parameters>, context: ToolContext): Promise<ToolResult>;
  /** Ends what calls left running (commands in the background, a browser): the process stops. */
  close?(): Promise<void>;
};

export type ToolQuestion = { readonly command: string; readonly detail: string };

/** A tool whose arguments are typed by its own schema, as one of a list of any tools. */
export const defineTool = <Parameters extends TSchema>(tool: Tool<Parameters>): Tool =>
  // right because the registry checks the arguments against this very schema before `run` sees them
  tool;
