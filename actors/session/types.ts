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
  Usage,
  Verbosity,
} from '../../protocols/session.ts';
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
  /** the standing lease that it began under, until it is known that it was good then */
  readonly standing?: string;
  /** its start was published, although it waits for an admission again */
  readonly isAnnounced?: true;
  /** of this run in the transcript, from its `user` entry or its last `compaction` entry on */
  readonly entries: number;
  readonly compactions: number;
  /** model calls answered so far; part of the ceiling on turns */
  readonly calls: number;
  /** failed attempts of the present call */
  readonly attempt: number;
  readonly usage: Usage;
  /** its prompt is in the transcript, and its hooks are known */
  readonly isAssembled: boolean;
  /** a model call, which builds the prompt, has begun */
  readonly hasCalled?: true;
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
  /** the agent's standing lease: while it is good, runs begin with these settings, unasked */
  readonly standing?: string;
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
