/**
 * Messages between entry points and session actors, and what a session stores for readers: index
 * rows, transcript entries, live run events. A session's address is
 * `{tenant}/session/{sessionKey}`.
 */
import type { DeliveryTarget } from './channel.ts';
import type { FilePart, ImagePart } from './content.ts';
import type { Priority } from './conversation.ts';
import type { ErrorData } from './errors.ts';
import type { Lineage } from './lineage.ts';
import type { ForkPoint } from './session-fork.ts';
import type { OrphanPolicy, SubagentTerms } from './subagent.ts';
import type { Usage } from './models/model-usage.ts';
import type { PromptReport, PromptSource } from './models/prompt-report.ts';

/**
 * What happens to a message that arrives during a run:
 *  - `steer`: it joins the run before the next model call; if none follows, it starts a run of its
 *    own;
 *  - `followup`: it starts a run of its own, in order;
 *  - `collect`: all waiting messages start one run, after `debounceMs` without a new one;
 *  - `interrupt`: the run is aborted and the message starts a new one.
 */
export type QueueMode = 'steer' | 'followup' | 'collect' | 'interrupt';
/** How much of its work a run includes in its reply: nothing, a line per tool, results as well. */
export type Verbosity = 'off' | 'on' | 'full';

/**
 * To a session: a user's message. The idempotency key of the request becomes `runId`. Reply:
 * RunAccepted.
 */
export type SessionReceive = {
  type: 'session.receive';
  runId: string;
  text: string;
  /** the sender, as the entry point authenticated it */
  sender?: string;
  /** `provider/model`; default the agent's */
  model?: string;
  thinking?: string;
  extraSystemPrompt?: string;
  /** time limit of the complete run, milliseconds; the smallest enclosing limit applies */
  timeoutMs?: number;
  /** default: the session's, then the agent's for this channel, then `steer` */
  queue?: QueueMode;
  /** at most IMAGES_MAX */
  images?: readonly ImagePart[];
  verbose?: Verbosity;
  /** whether the reply includes the reasoning, which is streamed in any case. Default false */
  reasoning?: boolean;
  /** the entry point, such as `terminal` or `telegram`, for its queue mode; default `webchat` */
  channel?: string;

  // ---- from actors only
  /** the sender, if it is not a user; such a message is refused instead of summarized */
  origin?: MessageOrigin;
  lineage?: Lineage;
  /** its priority in the queue; default normal */
  priority?: Priority;
  /** the sender receives RunEnded when this message's run ends */
  notify?: true;
  /** the chat of a messenger that the user wrote in */
  deliverTo?: DeliveryTarget;
  /** with the first message, from the subagent actor of this session's key: its grant */
  terms?: SubagentTerms;
};

/** The origin of a run that no user requested. */
export type MessageOrigin = {
  readonly kind: /* another agent's message, and its replies */
    | 'agent'
    /** the announce step of a conversation */
    | 'announce'
    /** the task of a subagent */
    | 'task'
    /** results of subagents */
    | 'subagents';
  /** session of the sender; for a subagent, of its parent */
  readonly sessionKey: string;
  /** id of the conversation or of the subagents */
  readonly ids: readonly string[];
};

/**
 * From a session, to the sender of a message with `notify`, and from a subagent's session to its
 * subagent actor for every run: the run ended.
 */
export type RunEnded = {
  type: 'run.ended';
  runId: string;
  sessionKey: string;
  status: Exclude<RunStatus, 'queued' | 'running'>;
  /** the reply as sent; '' for no reply, a skip text or, to a subagent, text addressed to others */
  text: string;
  error?: ErrorData;
  usage: Usage;
  startedAt: number;
  endedAt: number;
  /** the message joined this run */
  joined?: string;
  /** work that will start another run: running subagents, unread results, queued messages */
  open: number;
  /** the last entry point that users of the session used; absent: none */
  channel?: string;
  /** usage of all ended subagents of the session, and the number started, with theirs */
  below: { readonly usage: Usage; readonly spawned: number };
};

/**
 * From a session to those that its run waits for: does any of them wait for `origin`, directly or
 * through others? Each forwards it to the sessions that it waits for. A session that waits for
 * `origin` itself sends `session.cycle` to it.
 */
export type SessionProbe = {
  type: 'session.probe';
  /** session key, and the conversation that it waits for */
  origin: string;
  id: string;
  /** sessions that have forwarded it, at most PROBE_PATH_MAX */
  path: readonly string[];
};
export const PROBE_PATH_MAX = 64;
/** To the session that started to wait last: the wait would never end. */
export type SessionCycle = { type: 'session.cycle'; id: string; path: readonly string[] };

/**
 * To a session: aborts its runs, removes it from the lists and ends the actor. `orphans` says what
 * happens to its subagents. Reply: { closed: true }. The transcript is kept, but no model reads it
 * again.
 */
export type SessionClose = { type: 'session.close'; orphans?: OrphanPolicy };
/** From a deleted session to the one that takes over its subagents. */
export type SessionAdopt = { type: 'session.adopt'; children: readonly AdoptedChild[] };
export type AdoptedChild = {
  readonly id: string;
  readonly sessionKey: string;
  readonly reportBack: boolean;
  /** it has no slot yet */
  readonly waits?: true;
  /** it ended and its result is unread: it is requested to report again */
  readonly ended?: true;
  /** from its start to its end, milliseconds */
  readonly timeoutMs: number;
};
export type RunAccepted = {
  runId: string;
  sessionKey: string;
  status: 'accepted';
  acceptedAt: number;
  queued: boolean;
};

/** To an idle session: compacts its context now. Reply: CompactionDone, or CONFLICT. */
export type SessionCompact = { type: 'session.compact'; instructions?: string };
export type CompactionDone = { compacted: boolean; tokensBefore: number; tokensAfter: number };

/**
 * To a session: starts over under another session id; runs are aborted, and queued messages end as
 * aborted. The transcript is kept, but models no longer see the earlier entries. Reply: { sessionId
 * }.
 */
export type SessionReset = { type: 'session.reset'; reason?: string };

/**
 * To a session: aborts a running or queued run (all of them without runId). Reply: { aborted:
 * runIds }.
 */
export type SessionAbort = { type: 'session.abort'; runId?: string };

export type RunStatus = 'queued' | 'running' | 'ok' | 'error' | 'aborted' | 'timeout';
export type { Usage };

/**
 * Index `runs`, key runId (in the default tenant's table): open runs, and for 28 hours ended ones.
 */
export type RunRow = {
  runId: string;
  sessionKey: string;
  status: RunStatus;
  acceptedAt: number;
  startedAt?: number;
  endedAt?: number;
  /** final text, at most 64 KiB, or its beginning with many `joined`; complete in the transcript */
  text?: string;
  error?: ErrorData;
  usage?: Usage;
  model?: string;
  /** this message joined that run and ends with it (steer, collect) */
  joined?: string;
  /** messages that the run's tools sent into the conversation; absent: none */
  messages?: number;
};

/** Index `sessions`, key sessionKey. */
export type SessionRow = {
  sessionKey: string;
  sessionId: string;
  agentId: string;
  status: 'idle' | 'running';
  updatedAt: number;
  createdAt: number;
  /** transcript entries */
  messages: number;
  pending: number;
  /** of the open run, else from the session's settings, else of the last run */
  model?: string;
  /** from the session's settings */
  ownModel?: string;
  runId?: string;
  usage: Usage;
  /** beginning of its first message; absent before, and if an older version wrote the row */
  title?: string;
  /** beginning of the last message, at most 120 characters */
  lastMessage?: string;
  label?: string;
  /** the last entry point that users used, and the rule that routed its message here */
  channel?: string;
  routedBy?: string;
  /** input tokens of the last model call */
  contextTokens?: number;
  /** session key of the parent, for a subagent's session */
  spawnedBy?: string;
  forkedFrom?: ForkPoint;
  /** from the session's settings, as are the next ones */
  queue?: QueueMode;
  thinking?: string;
  verbose?: Verbosity;
  reasoning?: boolean;
  archived?: boolean;
  pinned?: boolean;
  category?: string;
};

/** A tool call that a model requested. `args` is JSON. */
export type ToolCall = { id: string; name: string; args: unknown };

/** Entries of a session's transcript; `type` is the kind. `at` is shard time. */
export type SessionEntry = TranscribedEntry & {
  /** where a fork copied it from; without prompts, and without the usage of answers */
  copied?: ForkPoint;
};
type TranscribedEntry =
  | {
      type: 'user';
      runId: string;
      text: string;
      sender?: string;
      images?: readonly ImagePart[];
      /** the message that joined this run (steer, collect): its own run id */
      of?: string;
      /** absent: a user */
      origin?: MessageOrigin;
      at: number;
    }
  /** the system prompt; the last one before a model call applies */
  | {
      type: 'prompt';
      runId: string;
      digest: string;
      system: string;
      report: PromptReport;
      at: number;
    }
  /** the summary replaces all entries before `keptFrom` */
  | {
      type: 'compaction';
      /** '' outside a run */
      runId: string;
      summary: string;
      /** transcript position of the first entry that models still see */
      keptFrom: number;
      tokensBefore: number;
      tokensAfter: number;
      at: number;
    }
  /** models see nothing before this entry; `deleted`: the session with this id was deleted */
  | { type: 'reset'; runId: ''; sessionId: string; reason?: string; deleted?: true; at: number }
  /** the entries before it were copied: the session is a fork */
  | { type: 'fork'; runId: ''; from: ForkPoint; at: number }
  | {
      type: 'assistant';
      runId: string;
      /** sent by a tool: its id for clients. Models see it in the call, not as an answer */
      of?: string;
      text: string;
      /** of a message that a tool sent */
      files?: readonly FilePart[];
      /** the displayed text, if the answer repeats messages that the run sent */
      shown?: string;
      calls?: readonly ToolCall[];
      reasoning?: string;
      continuation?: unknown;
      model: string;
      usage?: Usage;
      stop: string;
      /** name of the worker that made the call; absent with a single process */
      node?: string;
      at: number;
    }
  | {
      type: 'tool';
      runId: string;
      callId: string;
      name: string;
      result: string;
      isError: boolean;
      images?: readonly ImagePart[];
      /** the outcome is unknown: its worker crashed, and the tool must not run twice */
      unknown?: boolean;
      /** messages that the tool sent, which the reply does not repeat */
      sent?: readonly SentMessage[];
      /** ids of the subagents whose results it contains, so they are not reported again */
      ends?: readonly string[];
      at: number;
    }
  | { type: 'run.end'; runId: string; status: RunStatus; error?: ErrorData; at: number };

/** A message that a tool sent: its destination, its text and its files. */
export type SentMessage = { to: string; text: string; files?: readonly FilePart[] };

export type { PromptReport, PromptSource };

/**
 * Live events of runs on the Bus topic `runEventsTopic(tenant, sessionKey)`; ephemeral, in order
 * per run.
 */
export type RunEvent = { runId: string; sessionKey: string; at: number } & (
  | {
      stream: 'lifecycle';
      phase: 'start';
      startedAt: number;
      origin?: MessageOrigin;
      /** session key of the parent, for a subagent's session */
      spawnedBy?: string;
    }
  /** exactly one end or error per run */
  | {
      stream: 'lifecycle';
      phase: 'end';
      startedAt: number;
      endedAt: number;
      text: string;
      usage: Usage;
      status: 'ok' | 'aborted';
      messages?: number;
    }
  | {
      stream: 'lifecycle';
      phase: 'error';
      startedAt: number;
      endedAt: number;
      error: ErrorData;
      text?: string;
      status: 'error' | 'timeout';
      messages?: number;
    }
  /**
   * `offset`: characters of this answer before the delta. An offset lower than the last one
   * replaces the text after it (a restarted call)
   */
  | { stream: 'assistant'; delta: string; offset: number; call: number }
  | { stream: 'reasoning'; delta: string; offset: number; call: number }
  | { stream: 'tool'; phase: 'start'; callId: string; name: string; args: unknown }
  /** progress: the output since the last update */
  | { stream: 'tool'; phase: 'update'; callId: string; name: string; delta: string }
  | { stream: 'tool'; phase: 'end'; callId: string; name: string; result: string; isError: boolean }
  /** a call waits for approval: see the approval with that id */
  | { stream: 'tool'; phase: 'approval'; callId: string; name: string; approvalId: string }
  /**
   * watchers discard the state of call `call` and later ones: the call is repeated after a
   * compaction
   */
  | { stream: 'compaction'; phase: 'start' | 'end'; call: number; willRetry: boolean }
  /** a tool sent a message into this conversation; `id` is the id of its transcript entry */
  | { stream: 'message'; id: string; text: string; files?: readonly FilePart[] }
  /** a message joined the run */
  | { stream: 'steer'; of: string; text: string }
  /**
   * a subagent of the session, under the run that started it; `runId` is the parent's, `childRunId`
   * the subagent's. The subagent publishes it, so it may come after the end of that run
   */
  | ({
      stream: 'subagent';
      id: string;
      childRunId: string;
      childSessionKey: string;
      label?: string;
    } & (
      | { phase: 'start'; startedAt: number }
      | { phase: 'end'; endedAt: number; outcome: 'ok' }
      | { phase: 'error'; endedAt: number; outcome: 'error'; errorMessage: string }
    ))
);

const token = (text: string) =>
  encodeURIComponent(text).replaceAll('.', '%2E').replaceAll('*', '%2A');
export const runEventsTopic = (tenant: string, sessionKey: string) =>
  `run.${token(tenant)}.${token(sessionKey)}`;
/** Matches every run event of a tenant. */
export const runEventsOfTenant = (tenant: string) => `run.${token(tenant)}.>`;
