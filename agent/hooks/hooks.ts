/**
 * Hooks: functions of an installation that observe or change a run. This file has the contract of
 * each hook; `load.ts` loads them and `create-hooks.ts` calls them.
 *
 * Boundary: hooks run in effects and entry points, never in a turn. A repeated effect runs its
 * hooks again, so side effects of a hook must tolerate repetition.
 *
 * Invariants: hooks of one name run in order of `priority`, then of registration; each one receives
 * the result of the previous one. Each has a time limit. A failure is reported (log and metric) and
 * then handled by the contract: `open` ignores the hook, `closed` refuses the operation. `troupe
 * hooks list` shows files that cannot be loaded.
 */
import type {
  ChannelSender,
  InboundMessage,
  SendOutcome,
  TextDestination,
} from '../../protocols/channel.ts';
import type { FilePart, ImagePart } from '../../protocols/content.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type { RunStatus, SessionEntry, Usage } from '../../protocols/session.ts';

/** The session and run of a hook call. */
export type HookAbout = {
  readonly tenant: string;
  readonly agentId: string;
  readonly sessionKey: string;
  readonly runId?: string;
};

/** A file of the system prompt; `agent:bootstrap` hooks add, change and remove files. */
export type ContextFile = { readonly name: string; readonly text: string };

/** Event and result of each hook. A result of undefined changes nothing. */
/** A message to users: where it goes, and the files that follow the text. */
export type SentContent = Partial<TextDestination> & {
  text: string;
  files?: readonly FilePart[];
};

export type HookTypes = {
  /** the files of the system prompt, before it is composed */
  'agent:bootstrap': { event: { files: readonly ContextFile[] }; result: { files: ContextFile[] } };
  /** a user's command: /new, /reset, /stop, /compact, … */
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
  /** may change the arguments, which are validated again, or block the call with a reason */
  before_tool_call: {
    event: { name: string; callId: string; args: unknown };
    result: { args?: unknown; block?: string };
  };
  after_tool_call: {
    event: { name: string; callId: string; args: unknown; result: string; isError: boolean };
    result: void;
  };
  /** synchronous; the transcript stores the returned text instead of the result */
  tool_result_persist: {
    event: { name: string; callId: string; result: string; isError: boolean };
    result: { result: string };
  };
  /** chooses the agent of a channel's message; without a result the table `agents.routing` does */
  routeMessage: {
    event: { message: InboundMessage; channel: string; account: string; sender: ChannelSender };
    result: { agent: string };
  };
  message_received: {
    event: {
      text: string;
      channel: string;
      /** of the messenger; absent for clients of the gateway */
      account?: string;
      sender?: string;
      images: readonly ImagePart[];
    };
    result: { text?: string; refuse?: string };
  };
  /** before the reply is sent; may replace or cancel it */
  message_sending: {
    event: SentContent;
    result: { text?: string; cancel?: boolean };
  };
  /** in a messenger: once for each message, with the outcome of all its pieces */
  message_sent: {
    event: SentContent & { outcome?: SendOutcome['status']; error?: string };
    result: void;
  };
  session_start: { event: { sessionId: string }; result: void };
  session_end: { event: { sessionId: string; reason: string }; result: void };
  gateway_start: { event: { port: number }; result: void };
  gateway_stop: { event: { reason: string }; result: void };
};
export type HookName = keyof HookTypes;

export type HookContract = {
  /** time limit of one hook, milliseconds; 0: synchronous */
  readonly timeoutMs: number;
  readonly onFailure: 'open' | 'closed';
};

/** The contract of each hook; a test compares docs/hooks.md with this table. */
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
  routeMessage: { timeoutMs: 2_000, onFailure: 'open' },
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

/** The functions of a hook file or a plugin, by hook name. */
export type HookHandlers = {
  readonly [Name in HookName]?: (
    event: HookEvent<Name>,
    about: HookAbout & { readonly signal: AbortSignal },
  ) => Promise<HookResult<Name> | undefined> | HookResult<Name> | undefined;
};

export interface Hooks {
  /** Cheap; callers check it before they build an event. */
  has(name: HookName): boolean;
  /** Names that have at least one handler; recorded at the start of a run. */
  names(): readonly HookName[];
  /**
   * Runs all hooks of the name and merges their results. Later hooks of `agent:bootstrap`,
   * `before_tool_call` and similar names receive the changed event. `block`, `refuse`, `cancel` and
   * `agent` skip the remaining hooks. Returns undefined when no hook changed anything. Events are
   * JSON; hooks receive copies.
   *
   * @throws TroupeError FORBIDDEN when a hook that fails closed failed
   */
  run<Name extends HookName>(
    name: Name,
    event: HookEvent<Name>,
    about: HookAbout,
  ): Promise<HookResult<Name> | undefined>;
  /** Runs `tool_result_persist`. @throws TroupeError FORBIDDEN when a hook failed */
  persisted(event: HookEvent<'tool_result_persist'>, about: HookAbout): string;
}
