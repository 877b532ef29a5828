/** The context of a session. It is small, because the conversation itself is in the transcript. */
import type { PlannedCall } from '../../agent/policy/planned-call.ts';
import type { Address } from '../../protocols/address.ts';
import type { AgentAdmitted, AgentRefused, AgentSettings } from '../../protocols/agent.ts';
import type { ImagePart } from '../../protocols/content.ts';
import type { ConversationAnswered, SessionConverse } from '../../protocols/conversation.ts';
import type { DeliveryTarget } from '../../protocols/channel.ts';
import type { SessionExpire } from '../../protocols/retention.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type { Lineage } from '../../protocols/lineage.ts';
import type {
  MessageOrigin,
  QueueMode,
  RunStatus,
  SentMessage,
  SessionAbort,
  SessionAdopt,
  SessionClose,
  SessionCompact,
  SessionCycle,
  SessionEntry,
  SessionProbe,
  SessionReceive,
  SessionReset,
  Usage,
  Verbosity,
} from '../../protocols/session.ts';
import type { ForkPoint, SessionFork } from '../../protocols/session-fork.ts';
import type { SessionImport } from '../../protocols/session-import.ts';
import type { SessionInject, SessionSet } from '../../protocols/session-settings.ts';
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
import type { EndedSession } from './effect-types.ts';

export type * from './effect-types.ts';

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
  /**
   * the entry point that it came from, until the agent's settings have arrived: they determine the
   * mode of each entry point
   */
  readonly channel?: string;
  readonly acceptedAt: number;
  readonly origin?: MessageOrigin;
  readonly lineage?: Lineage;
  readonly priority?: 'low' | 'high';
  /** the actor that receives the end of the message */
  readonly notify?: Address;
};

/** An accepted message that ends with the run it joined. */
export type Joined = {
  readonly runId: string;
  readonly acceptedAt: number;
  readonly notify?: Address;
};
/** A message that overflowed the queue: the next run contains it as one summary line. */
export type Folded = Joined & { readonly line: string };

export type Run = Omit<Pending, 'images' | 'mode' | 'channel' | 'priority'> & {
  readonly startedAt: number;
  readonly status: RunStatus;
  readonly joined: readonly Joined[];
  /** when its time limit began to run, if the admission came later than `startedAt` */
  readonly admittedAt?: number;
  /** id of the run's slot; the release names it */
  readonly lease?: number;
  /** the standing lease under which the run started, until its first effect has checked it */
  readonly standing?: string;
  /** the start of the run was published, although it waits for an admission again */
  readonly isAnnounced?: true;
  /** number of this run's transcript entries since its `user` or last `compaction` entry */
  readonly entries: number;
  readonly compactions: number;
  /** model calls answered so far; `turnsMax` limits them */
  readonly calls: number;
  /** failed attempts of the present call */
  readonly attempt: number;
  readonly usage: Usage;
  /** the transcript contains the prompt of the run, and its hooks have been called */
  readonly isAssembled: boolean;
  /** a model call has started, which builds the prompt */
  readonly hasCalled?: true;
  readonly prepend?: string;
  readonly replyHooks: boolean;
  /** calls of the last answer that have no result yet, in order */
  readonly planned: readonly PlannedCall[];
  /** id of the pending approval of the first planned call */
  readonly asked?: string;
  readonly repeats?: Repeats;
  readonly tools: readonly ToolSummary[];
  /** newest texts that tools sent into this conversation; the reply does not repeat them */
  readonly sent: readonly SentMessage[];
  /** number of messages that tools sent into this conversation */
  readonly messages?: number;
  readonly answer?: string;
  readonly reasoningText?: string;
  readonly usedModel?: string;
  readonly stop?: string;
  readonly error?: ErrorData;
  /** warnings at the end of the reply, about stored settings that have no effect */
  readonly notices?: readonly string[];
  /** the text that is published at the end of the run */
  readonly reply?: string;
  /** conversations that the run started */
  readonly conversations?: readonly Begun[];
  /** subagents started by calls that have no result yet */
  readonly spawned?: readonly Spawned[];
};

/** Consecutive identical calls with identical results. `call` and `result` are digests. */
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
  /** transcript position from which models see the conversation, if it is known */
  readonly contextFrom: number;
  /** digest of the prompt in the transcript; null: models see no prompt */
  readonly digest: string | null;
  /** no run since the session was created or reset */
  readonly isFresh: boolean;
  /** the previous session under this key, until its end hooks have been called */
  readonly ended?: EndedSession | null;
  readonly endHooks?: boolean;
  /** the agent's settings at the admission of the last run */
  readonly settings: AgentSettings | null;
  /**
   * the agent's standing lease: while valid, runs start with these settings without an admission
   */
  readonly standing?: string;
  readonly own: OwnSettings;
  readonly queue: readonly Pending[];
  readonly folded: readonly Folded[];
  readonly run: Run | null;
  /** a compaction that a user requested, and where its result is sent */
  readonly compaction: { readonly reply: ReplyRef | null; readonly instructions?: string } | null;
  readonly reset: {
    readonly reply: ReplyRef | null;
    readonly sessionId: string;
    readonly reason?: string;
  } | null;
  readonly usage: Usage;
  readonly lastMessage: string;
  /** beginning of the first message of a run; '' after a reset */
  readonly title?: string;

  // ---- optional fields, absent until first set

  /** the entry point of the last user message */
  readonly channel?: string;
  /** the chat of the last user message; null: it came from a client of the gateway */
  readonly deliverTo?: DeliveryTarget | null;
  /** start of the first run since the session was created or reset */
  readonly startedAt?: number;
  /** arrival of the last message of a person */
  readonly lastMessageAt?: number;
  readonly contextTokens?: number;
  /** the model that answered last; another setting or a reset removes it */
  readonly usedModel?: string;
  /** limits of a subagent's session; absent in any other session */
  readonly terms?: SubagentTerms;
  /** the subagent of this session has ended, and the rest of its grant has returned */
  readonly isOver?: true;
  readonly children?: readonly Child[];
  /** what its subagents may spend and have spent */
  readonly books?: BudgetLedger;
  readonly reports?: readonly Report[];
  /** ends of subagents that a call or the run waits for */
  readonly awaited?: readonly Awaited[];
  /** conversations with other agents that calls wait for */
  readonly waits?: readonly Wait[];
  /** ids of the probes that were forwarded while the current calls wait */
  readonly probed?: readonly string[];
  /** of a fork, until it is reset */
  readonly forkedFrom?: ForkPoint;
  /** set while the conversation that the session is forked from is being copied */
  readonly fork?: ForkInProgress;
  /** set while pages of an import are missing */
  readonly importing?: true;
  /** set while the session is being deleted; it closes when its activity has ended */
  readonly closing?: { readonly reply: ReplyRef | null; readonly orphans?: OrphanPolicy };
};

export type ForkInProgress = {
  readonly reply: ReplyRef | null;
  /** copied entries */
  readonly copied: number;
  /** absent: nothing has been read */
  readonly rest?: CopyRest;
  readonly cut?: CutRun;
};
/** Positions in the transcript that is copied: of the next entry, and of the last one. */
export type CopyRest = { readonly next: number; readonly end: number };

/** Reads one page of the conversation that a session is forked from. `repeatable`. */
export type CopyInput = {
  readonly tenant: string;
  readonly from: ForkPoint;
  /** absent: for the first page, with the state */
  readonly rest?: CopyRest;
};
export type CopyOutput = {
  /** with the first page */
  readonly start?: ForkStart;
  readonly entries: readonly SessionEntry[];
  /** absent: this was the last page */
  readonly rest?: CopyRest;
};
/** What a fork keeps of the context of its session (fork.ts). */
export type ForkStart = Pick<SessionContext, 'own' | 'settings' | 'lastMessage'> &
  Partial<Pick<SessionContext, 'contextTokens' | 'usedModel'>> & { readonly cut?: CutRun };
/** The run that was active at the turn of a fork, and how it ends there. */
export type CutRun = {
  readonly runId: string;
  readonly status: RunStatus;
  readonly error?: ErrorData;
};

export type SessionEvent =
  | Delivered<SessionReceive>
  | Delivered<SessionFork>
  | Delivered<SessionImport>
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
  | Delivered<SessionExpire>
  | Delivered<SessionAdopt>
  | Delivered<SubagentEnded>
  | Delivered<ConversationAnswered>
  | Delivered<AgentAdmitted>
  | Delivered<AgentRefused>
  | Delivered<{ type: 'reply'; to: string; result?: unknown; error?: ErrorData }>
  | Delivered<{ type: 'refused'; to: string; message: string; error: ErrorData }>;

/** Input of the text of a reply. */
export type ReplyFacts = {
  readonly status: RunStatus;
  readonly text: string;
  /** how the last answer ended: `refusal` and `length` are reported without text */
  readonly stop?: string;
  readonly reasoning?: string;
  readonly showReasoning: boolean;
  readonly verbose: Verbosity;
  readonly tools: readonly ToolSummary[];
  /** texts that messaging tools sent to this conversation */
  readonly sent: readonly SentMessage[];
  /** another agent started the run, so the model may decline to reply */
  readonly mayDecline?: boolean;
  /** warnings that are appended to the reply */
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
