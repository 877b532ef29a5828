/**
 * Hooks: where an installation's own code may look at a run and change it. The contract of
 * each, in one table; loading is in `load.ts`, calling in `create-hooks.ts`.
 *
 * Boundary: hooks run in effects and doors, never in a turn. An effect that is repeated runs its
 * hooks again: what a hook does outside must bear that.
 *
 * Invariants: hooks of one name run in order of `priority`, then of registration, each on what the
 * one before returned; none runs longer than its time; one that fails is reported (log and metric)
 * and then does what its contract says: `open` goes on as if it were not there, `closed` refuses
 * what it was asked about. Files that cannot be loaded are in `troupe hooks list`.
 */
import type { ImagePart } from '../../protocols/content.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type { RunStatus, SessionEntry, Usage } from '../../protocols/session.ts';

/** Who and what a hook is called about. */
export type HookAbout = {
  readonly tenant: string;
  readonly agentId: string;
  readonly sessionKey: string;
  readonly runId?: string;
};

/** A file of the prompt; hooks of `agent:bootstrap` add, change and remove them. */
export type ContextFile = { readonly name: string; readonly text: string };

/** Event and result of each hook. A result of undefined changes nothing. */
export type HookTypes = {
  /** the files of the prompt, before it is put together */
  'agent:bootstrap': { event: { files: readonly ContextFile[] }; result: { files: ContextFile[] } };
  /** a command of a person: /new, /reset, /stop, /compact, … */
  command: { event: { name: string; args: string; sender?: string }; result: { reply?: string } };
  /** once per run, before its first model call */
  before_agent_start: {
    event: { prompt: string; system: string };
    result: { prependContext?: string; system?: string };
  };
  agent_end: {
    event: {
      status: RunStatus;
      entries: readonly SessionEntry[];
      usage: Usage;
      durationMs: number;
      error?: ErrorData;
    };
    result: void;
  };
  before_compaction: { event: { entries: number; tokens: number }; result: void };
  after_compaction: { event: { summary: string; tokens: number }; result: void };
  /** may change the arguments, which are checked again, or block the call with a reason */
  before_tool_call: {
    event: { name: string; callId: string; args: unknown };
    result: { args?: unknown; block?: string };
  };
  after_tool_call: {
    event: { name: string; callId: string; args: unknown; result: string; isError: boolean };
    result: void;
  };
  /** synchronous: what is written to the transcript in place of the result */
  tool_result_persist: {
    event: { name: string; callId: string; result: string; isError: boolean };
    result: { result: string };
  };
  message_received: {
    event: { text: string; channel: string; sender?: string; images: readonly ImagePart[] };
    result: { text?: string; refuse?: string };
  };
  /** the reply, before it is told: another text, or none */
  message_sending: { event: { text: string }; result: { text?: string; cancel?: boolean } };
  message_sent: { event: { text: string }; result: void };
  session_start: { event: { sessionId: string }; result: void };
  session_end: { event: { sessionId: string; reason: string }; result: void };
  gateway_start: { event: { port: number }; result: void };
  gateway_stop: { event: { reason: string }; result: void };
};
export type HookName = keyof HookTypes;

export type HookContract = {
  /** longest one hook may take, milliseconds; 0: synchronous */
  readonly timeoutMs: number;
  readonly onFailure: 'open' | 'closed';
};

/** One place says how each is run; docs/hooks.md is compared with it. */
export const HOOKS: Readonly<Record<HookName, HookContract>> = {
  'agent:bootstrap': { timeoutMs: 5_000, onFailure: 'open' },
  command: { timeoutMs: 5_000, onFailure: 'open' },
  before_agent_start: { timeoutMs: 10_000, onFailure: 'open' },
  agent_end: { timeoutMs: 10_000, onFailure: 'open' },
  before_compaction: { timeoutMs: 5_000, onFailure: 'open' },
  after_compaction: { timeoutMs: 5_000, onFailure: 'open' },
  before_tool_call: { timeoutMs: 10_000, onFailure: 'closed' },
  after_tool_call: { timeoutMs: 5_000, onFailure: 'open' },
  tool_result_persist: { timeoutMs: 0, onFailure: 'closed' },
  message_received: { timeoutMs: 5_000, onFailure: 'open' },
  message_sending: { timeoutMs: 5_000, onFailure: 'closed' },
  message_sent: { timeoutMs: 5_000, onFailure: 'open' },
  session_start: { timeoutMs: 5_000, onFailure: 'open' },
  session_end: { timeoutMs: 5_000, onFailure: 'open' },
  gateway_start: { timeoutMs: 10_000, onFailure: 'open' },
  gateway_stop: { timeoutMs: 5_000, onFailure: 'open' },
};

export type HookEvent<Name extends HookName> = HookTypes[Name]['event'];
export type HookResult<Name extends HookName> = HookTypes[Name]['result'];

/** What a file of the hooks folder, or a plugin, gives: functions by name. */
export type HookHandlers = {
  readonly [Name in HookName]?: (
    event: HookEvent<Name>,
    about: HookAbout & { readonly signal: AbortSignal },
  ) => Promise<HookResult<Name> | undefined> | HookResult<Name> | undefined;
};

export interface Hooks {
  /** Cheap: callers ask it before they gather an event. */
  has(name: HookName): boolean;
  /** Names that somebody handles; part of what a run is started with. */
  names(): readonly HookName[];
  /**
   * Runs all hooks of the name, each result laid over the one before (`agent:bootstrap`,
   * `before_tool_call`, … see the changed event); `block`, `refuse` and `cancel` end the row.
   * undefined when nobody changed anything. Events are JSON; hooks get copies.
   *
   * @throws TroupeError FORBIDDEN when one that fails closed failed
   */
  run<Name extends HookName>(
    name: Name,
    event: HookEvent<Name>,
    about: HookAbout,
  ): Promise<HookResult<Name> | undefined>;
  /** The synchronous one. @throws TroupeError FORBIDDEN when it failed */
  persisted(event: HookEvent<'tool_result_persist'>, about: HookAbout): string;
}
