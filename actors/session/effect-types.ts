/** Inputs and outputs of the effects of a session. */
import type { PlannedCall } from '../../agent/policy/planned-call.ts';
import type { Address } from '../../protocols/address.ts';
import type { AgentSettings } from '../../protocols/agent.ts';
import type { TextDestination } from '../../protocols/channel.ts';
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
   * Number of entries of this run that the call must see. The first is the run's `user` entry or,
   * when `isCompacted`, the `compaction` entry with `keptFrom` = `from`. The call waits until the
   * transcript contains the last of them, because a relay may deliver entries late.
   */
  readonly entries: number;
  readonly isCompacted: boolean;
  /** number of this call in the run, from 0 */
  readonly call: number;
  /** this call failed before: clients discard its earlier deltas */
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
  /** the tool calls as the model wrote them */
  readonly calls: readonly ToolCall[];
  /** the same calls after policy, hooks and argument checks */
  readonly planned: readonly PlannedCall[];
  readonly stop: string;
  readonly usage: Usage;
  readonly model: string;
  /** opaque data that the provider expects back with this answer in later requests */
  readonly continuation?: unknown;
  /** models see nothing before this transcript position: later than the input's `from` */
  readonly from?: number;
  /** worker that made the call */
  readonly node?: string;
  /** warnings about stored settings that have no effect, for example an unknown model */
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
  /** the actor whose workspace the tools use; absent: the agent */
  readonly workspace?: Address;
  /** where the run's texts go */
  readonly chat?: TextDestination;
  /** in a subagent's session: the tools that its parent granted */
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
  /** of models that the tool asked */
  readonly usage?: Usage;
  /** ids of subagents whose ends the result reports, even if a hook has changed its text */
  readonly ends?: readonly string[];
};

/** Passes the reply to hooks before it is published, and then the end of the run. `repeatable`. */
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
  /** where the text goes */
  readonly chat?: TextDestination;
};
export type ReplyOutput = { readonly text: string };

// ---- of one run, between the chart and its effects

/** `details.reason` of the error of a run's first effect when its standing lease was revoked. */
export const LEASE_REVOKED = 'lease-revoked';

/** The lease under which a run started. It is valid while the agent's row shows it. */
export type StandingLease = { readonly agent: Address; readonly id: string };

/** Input for building a prompt, in addition to the fields of every model call. */
export type PromptWanted = {
  /** checked before anything else; absent: the agent has admitted the run */
  readonly standing?: StandingLease;
  readonly sessionId: string;
  /** the message that started the run, for hooks */
  readonly text: string;
  readonly extraSystemPrompt?: string;
  /** digest of the prompt that the transcript holds since the last reset; absent: none */
  readonly digest?: string;
  /** the session is new (a hook is called) */
  readonly isFirst: boolean;
  /** the previous session under this key, if its end hooks have not been called yet */
  readonly ended?: EndedSession;
  /** a subagent's session: its prompt contains only AGENTS.md and TOOLS.md of the agent's files */
  readonly isSubagent?: true;
  readonly parent?: string;
};
/** Builds the prompt, once per run. `repeatable`. */
export type AssembleInput = PromptWanted & {
  readonly tenant: string;
  readonly agentId: string;
  readonly sessionKey: string;
  readonly runId: string;
  /** `provider/model` that the first request uses */
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
  /** text that hooks add before the message */
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
  /** the actor whose workspace contains the daily log; absent: the agent */
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

/** An ended session whose end hooks run before anything else under the same key. */
export type EndedSession = { readonly sessionId: string; readonly reason: string };
