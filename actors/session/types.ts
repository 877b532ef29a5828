/** What a session keeps between turns. Small: the conversation itself is the transcript. */
import type { PlannedCall } from '../../agent/policy/planned-call.ts';
import type { Address } from '../../protocols/address.ts';
import type { AgentAdmitted, AgentRefused, AgentSettings } from '../../protocols/agent.ts';
import type { ImagePart } from '../../protocols/content.ts';
import type { ConversationAnswered, SessionConverse } from '../../protocols/conversation.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type { Lineage } from '../../protocols/lineage.ts';
import type {
  MessageOrigin,
  PromptReport,
  QueueMode,
  RunStatus,
  SentMessage,
  SessionAbort,
  SessionAdopt,
  SessionClose,
  SessionCompact,
  SessionCycle,
  SessionProbe,
  SessionReceive,
  SessionReset,
  ToolCall,
  Usage,
  Verbosity,
} from '../../protocols/session.ts';
import type { SessionInject, SessionSet } from '../../protocols/session-settings.ts';
import type { SandboxPolicy } from '../../protocols/sandbox-policy.ts';
import type { Delivered, ReplyRef } from '../../protocols/statechart.ts';
import type {
  OrphanPolicy,
  SessionKill,
  SessionSpawn,
  SubagentEnded,
  SubagentTerms,
} from '../../protocols/subagent.ts';
import type {
  Awaited,
  Begun,
  BudgetLedger,
  Child,
  Report,
  Spawned,
  Wait,
} from './subagents/related-sessions.ts';

/** A waiting message: for its own run, or to join one. */
export type Pending = {
  readonly runId: string;
  readonly text: string;
  readonly sender?: string;
  readonly images?: readonly ImagePart[];
  readonly model?: string;
  readonly thinking?: string;
  readonly extraSystemPrompt?: string;
  readonly timeoutMs?: number;
  readonly verbose?: Verbosity;
  readonly reasoning?: boolean;
  readonly mode: QueueMode;
  /** it arrived before the agent's settings, which will determine its mode */
  readonly channel?: string;
  readonly acceptedAt: number;
  readonly origin?: MessageOrigin;
  readonly lineage?: Lineage;
  readonly priority?: 'low' | 'high';
  /** the actor that receives its end */
  readonly notify?: Address;
};

/** An accepted message that ends with the run it joined. */
export type Joined = {
  readonly runId: string;
  readonly acceptedAt: number;
  readonly notify?: Address;
};
/** One that was folded into a line of the next run, since too many waited. */
export type Folded = Joined & { readonly line: string };

export type Run = Omit<Pending, 'images' | 'mode' | 'channel' | 'priority'> & {
  readonly startedAt: number;
  readonly status: RunStatus;
  readonly joined: readonly Joined[];
  /** lease of its slot, which the release contains */
  readonly lease?: number;
  /** of this run in the transcript, from its `user` entry or its last `compaction` entry on */
  readonly entries: number;
  readonly compactions: number;
  /** model calls answered so far; part of the ceiling on turns */
  readonly calls: number;
  /** failed attempts of the present call */
  readonly attempt: number;
  readonly usage: Usage;
  readonly isAssembled: boolean;
  readonly prepend?: string;
  readonly replyHooks: boolean;
  /** calls of the last answer that have no result yet, in order */
  readonly planned: readonly PlannedCall[];
  /** the open question about the first of them */
  readonly asked?: string;
  readonly repeats?: Repeats;
  readonly tools: readonly ToolSummary[];
  /** texts for this conversation, the newest: the reply does not repeat them */
  readonly sent: readonly SentMessage[];
  /** how many messages tools have sent into this conversation */
  readonly messages?: number;
  readonly answer?: string;
  readonly reasoningText?: string;
  readonly usedModel?: string;
  readonly stop?: string;
  readonly error?: ErrorData;
  /** that its reply ends with: stored choices that mean nothing */
  readonly notices?: readonly string[];
  /** published at its end */
  readonly reply?: string;
  /** conversations that it began */
  readonly conversations?: readonly Begun[];
  /** subagents that calls without a result have started */
  readonly spawned?: readonly Spawned[];
};

/** How often the last call was made in a row with one result; digests, not texts. */
export type Repeats = { readonly call: string; readonly result: string; readonly times: number };

/** Settings of this session; absent: those of the agent. */
export type OwnSettings = {
  readonly model?: string;
  readonly thinking?: string;
  readonly queue?: QueueMode;
  readonly verbose?: Verbosity;
  readonly reasoning?: boolean;
  readonly label?: string;
  readonly archived?: true;
  readonly pinned?: true;
  readonly category?: string;
};

export type EndedSession = { readonly sessionId: string; readonly reason: string };
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
  /** transcript position at which the view of models starts, if it is known */
  readonly contextFrom: number;
  /** of the prompt that the transcript holds; null: none that models would see */
  readonly digest: string | null;
  /** no run since it began or was reset */
  readonly isFresh: boolean;
  /** a session that is over; hooks learn it before anything else begins */
  readonly ended?: EndedSession | null;
  readonly endHooks?: boolean;
  /** the agent's, as they were when the last run was admitted */
  readonly settings: AgentSettings | null;
  readonly own: OwnSettings;
  readonly queue: readonly Pending[];
  readonly folded: readonly Folded[];
  readonly run: Run | null;
  /** a user requested it and receives the answer */
  readonly compaction: { readonly reply: ReplyRef | null; readonly instructions?: string } | null;
  readonly reset: {
    readonly reply: ReplyRef | null;
    readonly sessionId: string;
    readonly reason?: string;
  } | null;
  readonly usage: Usage;
  readonly lastMessage: string;

  // ---- absent until there is one

  /** the entry point of the last message of a user */
  readonly channel?: string;
  readonly contextTokens?: number;
  /** the model that answered last; another setting or a reset removes it */
  readonly usedModel?: string;
  /** of a subagent's session */
  readonly terms?: SubagentTerms;
  /** of one whose subagent has ended: what is left of its grant has gone back */
  readonly isOver?: true;
  readonly children?: readonly Child[];
  readonly books?: BudgetLedger;
  readonly reports?: readonly Report[];
  readonly awaited?: readonly Awaited[];
  readonly waits?: readonly Wait[];
  /** ids of probes that were passed on since the run waits */
  readonly probed?: readonly string[];
  /** it is deleted when its activity has ended */
  readonly closing?: { readonly reply: ReplyRef | null; readonly orphans?: OrphanPolicy };
};

export type SessionEvent =
  | Delivered<SessionReceive>
  | Delivered<SessionAbort>
  | Delivered<SessionReset>
  | Delivered<SessionSet>
  | Delivered<SessionInject>
  | Delivered<SessionCompact>
  | Delivered<SessionSpawn>
  | Delivered<SessionKill>
  | Delivered<SessionConverse>
  | Delivered<SessionProbe>
  | Delivered<SessionCycle>
  | Delivered<SessionClose>
  | Delivered<SessionAdopt>
  | Delivered<SubagentEnded>
  | Delivered<ConversationAnswered>
  | Delivered<AgentAdmitted>
  | Delivered<AgentRefused>
  | Delivered<{ type: 'reply'; to: string; result?: unknown; error?: ErrorData }>
  | Delivered<{ type: 'refused'; to: string; message: string; error: ErrorData }>;

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
};
export type CallModelOutput = {
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

/** Puts the prompt together, once per run. `repeatable`. */
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
  /** the session is new (a hook is called) */
  readonly isFirst: boolean;
  /** a session that ended before its hooks were called at once */
  readonly ended?: EndedSession;
  /** it is a subagent's: of the agent's files only AGENTS.md and TOOLS.md */
  readonly isSubagent?: true;
  readonly parent?: string;
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

/** What a reply is made of. */
export type ReplyFacts = {
  readonly status: RunStatus;
  readonly text: string;
  /** how the last answer ended: `refusal` and `length` are reported without text */
  readonly stop?: string;
  readonly reasoning?: string;
  readonly showReasoning: boolean;
  readonly verbose: Verbosity;
  readonly tools: readonly ToolSummary[];
  /** what messaging tools have sent to this very conversation */
  readonly sent: readonly SentMessage[];
  /** another agent began the run: the model may answer that it wants to say nothing */
  readonly mayDecline?: boolean;
  /** follow the answer */
  readonly notices?: readonly string[];
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
