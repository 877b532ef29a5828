/** What a session keeps between turns. Small: the conversation itself is the transcript. */
import type { Address } from '../../protocols/address.ts';
import type { AgentAdmitted, AgentRefused, AgentSettings } from '../../protocols/agent.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type {
  PromptReport,
  RunStatus,
  SentMessage,
  SessionAbort,
  SessionReceive,
  ToolCall,
  Usage,
  Verbosity,
} from '../../protocols/session.ts';
import type { Delivered } from '../../protocols/statechart.ts';

/** A message that waits for its run, and the run once it has begun. */
export type Pending = {
  readonly runId: string;
  readonly text: string;
  readonly sender?: string;
  readonly model?: string;
  readonly thinking?: string;
  readonly extraSystemPrompt?: string;
  readonly timeoutMs?: number;
  readonly acceptedAt: number;
};

export type Run = Pending & {
  readonly startedAt: number;
  readonly status: RunStatus;
  readonly settings?: AgentSettings;
  /** of this run in the transcript, so far */
  readonly entries: number;
  /** model calls answered so far; part of the ceiling on turns */
  readonly calls: number;
  /** failed attempts of the present call */
  readonly attempt: number;
  readonly usage: Usage;
  readonly tools?: readonly ToolCall[];
  readonly answer?: string;
  readonly usedModel?: string;
  readonly error?: ErrorData;
};

export type SessionContext = {
  readonly self: Address;
  readonly tenant: string;
  readonly sessionKey: string;
  readonly agentId: string;
  readonly sessionId: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** transcript entries appended so far */
  readonly length: number;
  readonly queue: readonly Pending[];
  readonly run: Run | null;
  readonly usage: Usage;
  readonly lastMessage: string;
};

export type SessionEvent =
  | Delivered<SessionReceive>
  | Delivered<SessionAbort>
  | Delivered<AgentAdmitted>
  | Delivered<AgentRefused>
  | Delivered<{ type: 'refused'; to: string; message: string; error: ErrorData }>;

export type CallModelInput = {
  readonly sessionKey: string;
  readonly tenant: string;
  readonly agentId: string;
  readonly runId: string;
  /**
   * entries of this run, the first of which is its `user` entry: the call reads up to the last of
   * them, whatever a relay is still carrying and whatever came before the session was restarted
   */
  readonly entries: number;
  /** number of this call in the run, from 0 */
  readonly call: number;
  readonly model?: string;
  readonly thinking?: string;
  readonly purpose?: string;
  readonly extraSystemPrompt?: string;
};
export type CallModelOutput = {
  readonly text: string;
  readonly reasoning?: string;
  readonly calls: readonly ToolCall[];
  readonly stop: string;
  readonly usage: Usage;
  readonly model: string;
  /** what the provider wants back with this answer; opaque */
  readonly continuation?: unknown;
};
export type CallToolsInput = {
  readonly sessionKey: string;
  readonly tenant: string;
  readonly agentId: string;
  readonly runId: string;
  readonly calls: readonly ToolCall[];
};
export type ToolResult = {
  readonly callId: string;
  readonly name: string;
  readonly result: string;
  readonly isError: boolean;
};

// ---- of one run, between the chart and its effects

/** Puts the prompt together (AL5), once per run. `repeatable`. */
export type AssembleInput = {
  readonly tenant: string;
  readonly agentId: string;
  readonly sessionKey: string;
  readonly sessionId: string;
  readonly runId: string;
  /** the message that began the run, for hooks */
  readonly text: string;
  /** `provider/model` that it will be sent to first */
  readonly model?: string;
  readonly settings: AgentSettings;
  readonly extraSystemPrompt?: string;
  /** digest of the prompt that the transcript holds since the last reset; absent: none */
  readonly digest?: string;
  /** the session has just begun (a hook is told) */
  readonly isFirst: boolean;
};
export type AssembleOutput = {
  readonly digest: string;
  /** absent when the transcript holds it already */
  readonly prompt?: { readonly system: string; readonly report: PromptReport };
  /** what hooks put in front of the message */
  readonly prepend?: string;
  /** somebody wants to see the reply before it is told: the chart passes `replying` */
  readonly replyHooks: boolean;
};

/** A call of a model, and what is decided about it before it runs. */
export type PlannedCall = ToolCall & {
  /** the tool's own name, where the model used an alias */
  readonly name: string;
  readonly class: 'repeatable' | 'keyed' | 'once';
  readonly parallel: boolean;
  /** it does not run: the model reads this instead */
  readonly refused?: string;
  /** a person is asked first (SX3); `pattern`: what `always` allows */
  readonly question?: {
    readonly command: string;
    readonly detail: string;
    readonly pattern: string;
    readonly forMs: number;
  };
  readonly confinement: {
    readonly sandboxed: boolean;
    readonly workspaceAccess: 'ro' | 'rw' | 'none';
  };
};

/** Shortens the context (AL8). `keyed`: the daily log is written once per key. */
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

/** What a reply is made of (AL7). */
export type ReplyFacts = {
  readonly status: RunStatus;
  readonly text: string;
  readonly reasoning?: string;
  readonly showReasoning: boolean;
  readonly verbose: Verbosity;
  readonly tools: readonly ToolSummary[];
  /** what messaging tools have sent to this very conversation */
  readonly sent: readonly SentMessage[];
  readonly error?: ErrorData;
};
export type ToolSummary = {
  readonly name: string;
  /** first words of its arguments */
  readonly about: string;
  readonly isError: boolean;
  /** first words of its result; with verbose `full` */
  readonly result?: string;
};
