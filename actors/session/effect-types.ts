/** What the session's chart gives to its effects, and what they return. */
import type { PlannedCall } from '../../agent/policy/planned-call.ts';
import type { Address } from '../../protocols/address.ts';
import type { AgentSettings } from '../../protocols/agent.ts';
import type { ImagePart } from '../../protocols/content.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type { SandboxPolicy } from '../../protocols/sandbox/sandbox-policy.ts';
import type {
  PromptReport,
  RunStatus,
  SentMessage,
  ToolCall,
  Usage,
} from '../../protocols/session.ts';

export type CallModelInput = {
  readonly sessionKey: string;
  readonly tenant: string;
  readonly agentId: string;
  readonly runId: string;
  /** transcript position to read from */
  readonly from: number;
  /**
   * entries of this run that the call must see, the first of which is its `user` entry, or the
   * `compaction` entry that keeps from `from` when `isCompacted`: the call reads up to the last of
   * them, whatever a relay is still carrying and whatever came before the session was restarted
   */
  readonly entries: number;
  readonly isCompacted: boolean;
  /** number of this call in the run, from 0 */
  readonly call: number;
  /** it failed before: earlier deltas are void */
  readonly isRepeat?: true;
  /** `provider/model` to ask first; default the catalog's */
  readonly model?: string;
  readonly thinking?: string;
  /** precedes the run's message */
  readonly prepend?: string;
  readonly settings: AgentSettings;
  /** the prompt is built first; absent when the transcript holds it */
  readonly assemble?: PromptWanted;
};
export type CallModelOutput = {
  /** with `CallModelInput.assemble` */
  readonly assembled?: AssembleOutput;
  readonly text: string;
  readonly reasoning?: string;
  /** as the model wrote them */
  readonly calls: readonly ToolCall[];
  /** as they are to be run */
  readonly planned: readonly PlannedCall[];
  readonly stop: string;
  readonly usage: Usage;
  readonly model: string;
  /** what the provider wants back with this answer; opaque */
  readonly continuation?: unknown;
  /** models see nothing before this transcript position: later than the input's `from` */
  readonly from?: number;
  /** worker that made the call */
  readonly node?: string;
  /** stored choices that mean nothing (chosen.ts) */
  readonly notices?: readonly string[];
};
/** The prompt was built, then the call failed: the run keeps the prompt, and its hooks ran once. */
export type CallModelFailure = {
  readonly assembled: AssembleOutput;
  readonly failure: ErrorData;
};
export type CallToolsInput = {
  readonly sessionKey: string;
  readonly tenant: string;
  readonly agentId: string;
  readonly runId: string;
  readonly calls: readonly PlannedCall[];
  /** whose files the tools work on; absent: the agent's */
  readonly workspace?: Address;
  /** of a subagent: the tools that its parent gave it */
  readonly given?: Pick<SandboxPolicy, 'allow' | 'deny'>;
};
export type ToolResult = {
  readonly callId: string;
  readonly name: string;
  readonly result: string;
  readonly isError: boolean;
  readonly images?: readonly ImagePart[];
  readonly unknown?: boolean;
  readonly sent?: readonly SentMessage[];
  /** ids of subagents whose ends it reports: changes of its text by a hook do not affect that */
  readonly ends?: readonly string[];
};

/** Passes the reply to hooks before it is published, and the end. `repeatable`. */
export type ReplyInput = {
  readonly tenant: string;
  readonly agentId: string;
  readonly sessionKey: string;
  readonly runId: string;
  readonly status: RunStatus;
  readonly text: string;
  readonly usage: Usage;
  readonly startedAt: number;
  /** transcript position to read the run's entries from */
  readonly from: number;
  readonly error?: ErrorData;
};
export type ReplyOutput = { readonly text: string };

// ---- of one run, between the chart and its effects

/** `details.reason` of the error of a first effect whose standing lease is not good any more. */
export const LEASE_REVOKED = 'lease-revoked';

/** A lease that a run began under: it was good if the agent's row shows it. */
export type StandingLease = { readonly agent: Address; readonly id: string };

/** What a prompt is built of, in addition to what every model call names. */
export type PromptWanted = {
  /** checked before anything else; absent: the agent has admitted the run */
  readonly standing?: StandingLease;
  readonly sessionId: string;
  /** the message that began the run, for hooks */
  readonly text: string;
  readonly extraSystemPrompt?: string;
  /** digest of the prompt that the transcript holds since the last reset; absent: none */
  readonly digest?: string;
  /** the session is new (a hook is called) */
  readonly isFirst: boolean;
  /** a session that ended before its hooks were called at once */
  readonly ended?: EndedSession;
  /** it is a subagent's: of the agent's files only AGENTS.md and TOOLS.md */
  readonly isSubagent?: true;
  readonly parent?: string;
};
/** Builds the prompt, once per run. `repeatable`. */
export type AssembleInput = PromptWanted & {
  readonly tenant: string;
  readonly agentId: string;
  readonly sessionKey: string;
  readonly runId: string;
  /** `provider/model` that it will be sent to first */
  readonly model?: string;
  readonly settings: AgentSettings;
};
export type EndSessionInput = Pick<AssembleInput, 'tenant' | 'agentId' | 'sessionKey'> & {
  readonly ended: EndedSession;
};
export type AssembleOutput = {
  readonly digest: string;
  /** absent when the transcript holds it already */
  readonly prompt?: { readonly system: string; readonly report: PromptReport };
  /** what hooks put in front of the message */
  readonly prepend?: string;
  /** a hook needs the reply before it is published: the chart passes `replying` */
  readonly replyHooks: boolean;
  readonly endHooks?: boolean;
};

/** Shortens the context. `keyed`: the daily log is written once per key. */
export type CompactInput = {
  readonly tenant: string;
  readonly agentId: string;
  readonly sessionKey: string;
  /** '' outside of a run */
  readonly runId: string;
  /** transcript position that models see from; the last `keptFrom` or reset */
  readonly from: number;
  readonly settings: AgentSettings;
  readonly model?: string;
  readonly instructions?: string;
  /** whose files the daily log is in; absent: the agent's */
  readonly workspace?: Address;
};
export type CompactOutput = {
  /** false: there was nothing to shorten; the other fields are as before */
  readonly compacted: boolean;
  readonly summary: string;
  readonly keptFrom: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly usage: Usage;
};

/** A session that is over; hooks learn it before anything else begins. */
export type EndedSession = { readonly sessionId: string; readonly reason: string };
