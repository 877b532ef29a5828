/**
 * What doors and session actors say to each other, and what a session leaves for readers: events,
 * index rows, transcript entries, live run events. A session's address is
 * `{tenant}/session/{sessionKey}`.
 */
import type { ImagePart } from './content.ts';
import type { Priority } from './conversation.ts';
import type { ErrorData } from './errors.ts';
import type { Lineage } from './lineage.ts';
import type { OrphanPolicy, SubagentTerms } from './subagent.ts';
import type { Usage } from './model-usage.ts';
import type { PromptReport, PromptSource } from './prompt-report.ts';

/**
 * What becomes of a message that comes while a run is going (AL3):
 *  - `steer`: it joins the run at the next boundary of a model call or a tool; when there is none
 *    any more, it becomes a run of its own;
 *  - `followup`: a run of its own, in order;
 *  - `collect`: all that waits becomes one run, when nothing came for `debounceMs`;
 *  - `interrupt`: the run is aborted and this one begins.
 */
export type QueueMode = 'steer' | 'followup' | 'collect' | 'interrupt';
/**
 * How much of its work a run shows in its reply (AL7): nothing, a line per tool, results as well.
 */
export type Verbosity = 'off' | 'on' | 'full';

/**
 * To a session: a message of a person. The idempotency key of the request becomes `runId`. Answer:
 * RunAccepted.
 */
export type SessionReceive = {
  type: 'session.receive';
  runId: string;
  text: string;
  /** who speaks, as the door knows it */
  sender?: string;
  /** `provider/model`; default the agent's */
  model?: string;
  thinking?: string;
  extraSystemPrompt?: string;
  /** whole run, milliseconds; the smallest enclosing limit wins */
  timeoutMs?: number;
  /** default the session's, then the agent's for this channel, then `steer` */
  queue?: QueueMode;
  /** at most IMAGES_MAX */
  images?: readonly ImagePart[];
  verbose?: Verbosity;
  /** whether the reasoning is part of the reply; it is streamed anyway. Default false */
  reasoning?: boolean;
  /** the door it came through, for its queue mode; default `webchat` */
  channel?: string;

  // ---- from actors only

  /** who sent it, where that is no person; such a message is never folded: it is refused */
  origin?: MessageOrigin;
  lineage?: Lineage;
  /** its place among those that wait; default normal */
  priority?: Priority;
  /** the sender is told of the end of this message's run: RunEnded */
  notify?: true;
  /** with the first message, from the subagent actor of this session's key: what it lives by */
  terms?: SubagentTerms;
};

/** Who begins a run that no person asked for. */
export type MessageOrigin = {
  readonly kind: /** another agent's message, and what it replies */
    | 'agent'
    /** the announce step of a conversation */
    | 'announce'
    /** the task of a subagent */
    | 'task'
    /** results of subagents */
    | 'subagents';
  /** of the sender; of a subagent its parent */
  readonly sessionKey: string;
  /** conversation or subagents */
  readonly ids: readonly string[];
};

/**
 * From a session, to the sender of a message with `notify`, and for every run of a subagent's
 * session to its subagent: the run has its end.
 */
export type RunEnded = {
  type: 'run.ended';
  runId: string;
  sessionKey: string;
  status: Exclude<RunStatus, 'queued' | 'running'>;
  /** the reply as told; '' is silence, no more wanted or, to a subagent, words for others */
  text: string;
  error?: ErrorData;
  usage: Usage;
  startedAt: number;
  endedAt: number;
  /** the message joined this run */
  joined?: string;
  /**
   * what will begin another run by itself: subagents that go on, results that nobody has read,
   * messages that wait
   */
  open: number;
  /** the door that people of the session came through last; absent: none ever did */
  channel?: string;
  /** of all subagents of the session that have ended, and how many it has started, with theirs */
  below: { readonly usage: Usage; readonly spawned: number };
};

/**
 * From a session to those that its run waits for: does somebody there wait for `origin`, directly
 * or through others? Passed on along what each of them waits for; whoever waits for `origin` itself
 * tells it so by `session.cycle`.
 */
export type SessionProbe = {
  type: 'session.probe';
  /** session key and the conversation that it waits for */
  origin: string;
  id: string;
  /** sessions that have passed it on, at most PROBE_PATH_MAX */
  path: readonly string[];
};
export const PROBE_PATH_MAX = 64;
/** To the session that began to wait last: that wait would never end. */
export type SessionCycle = { type: 'session.cycle'; id: string; path: readonly string[] };

/**
 * To a session: end all that goes on and waits, leave the lists, and be gone. Its subagents go as
 * `orphans` says. Answer: { closed: true }. The transcript stays; no model sees it again.
 */
export type SessionClose = { type: 'session.close'; orphans?: OrphanPolicy };
/** From a session that is deleted, to the one that takes its subagents over. */
export type SessionAdopt = { type: 'session.adopt'; children: readonly AdoptedChild[] };
export type AdoptedChild = {
  readonly id: string;
  readonly sessionKey: string;
  readonly reportBack: boolean;
  /** it has no place yet */
  readonly waits?: true;
  /** it has ended, and nobody has read how: it is asked to tell it again */
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

/** To a session that is idle: shorten its context now. Answer: CompactionDone, or CONFLICT. */
export type SessionCompact = { type: 'session.compact'; instructions?: string };
export type CompactionDone = { compacted: boolean; tokensBefore: number; tokensAfter: number };

/**
 * To a session: begin anew under another session id; what goes on is aborted, what waits is ended
 * as aborted (SE2). The transcript stays; no model sees what lies before. Answer: { sessionId }.
 */
export type SessionReset = { type: 'session.reset'; reason?: string };

/**
 * To a session: stop the running or the queued run (all of them without runId). Answer: { aborted:
 * runIds }.
 */
export type SessionAbort = { type: 'session.abort'; runId?: string };

export type RunStatus = 'queued' | 'running' | 'ok' | 'error' | 'aborted' | 'timeout';
export type { Usage };

/**
 * Index `runs`, key runId (of the default tenant's table): runs that go, and for 28 hours those
 * that ended.
 */
export type RunRow = {
  runId: string;
  sessionKey: string;
  status: RunStatus;
  acceptedAt: number;
  startedAt?: number;
  endedAt?: number;
  /**
   * final text, at most 64 KiB, whole in the transcript; for one of many messages that joined a
   * run (`joined`), its first words
   */
  text?: string;
  error?: ErrorData;
  usage?: Usage;
  model?: string;
  /** this message was taken into that run and ends with it (steer, collect) */
  joined?: string;
  /** messages that tools of the run sent into the conversation; absent: none */
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
  /** that answers the run, else of its own settings, else that answered last */
  model?: string;
  /** of its own settings */
  ownModel?: string;
  runId?: string;
  usage: Usage;
  /** first words of the last message, at most 120 characters */
  lastMessage?: string;
  label?: string;
  /** the door that people came through last */
  channel?: string;
  /** input tokens of the last model call */
  contextTokens?: number;
  /** session key of the parent; of a subagent's session */
  spawnedBy?: string;
  /** of its own settings, as the next are */
  queue?: QueueMode;
  thinking?: string;
  verbose?: Verbosity;
  reasoning?: boolean;
  archived?: boolean;
  pinned?: boolean;
  category?: string;
};

/** One tool call a model asks for. `args` is JSON. */
export type ToolCall = { id: string; name: string; args: unknown };

/** Entries of a session's transcript; `type` names the kind. `at` is shard time. */
export type SessionEntry =
  | {
      type: 'user';
      runId: string;
      text: string;
      sender?: string;
      images?: readonly ImagePart[];
      /** the message that joined this run (steer, collect): its own run id */
      of?: string;
      /** absent: a person */
      origin?: MessageOrigin;
      at: number;
    }
  /** what the model is told in front of everything; the last one before a call counts (AL5) */
  | {
      type: 'prompt';
      runId: string;
      digest: string;
      system: string;
      report: PromptReport;
      at: number;
    }
  /** what lies before entry `keptFrom` is replaced by the summary (AL8) */
  | {
      type: 'compaction';
      /** '' outside of a run */
      runId: string;
      summary: string;
      /** transcript position of the first entry that models still see */
      keptFrom: number;
      tokensBefore: number;
      tokensAfter: number;
      at: number;
    }
  /** the session began anew: models see nothing before it */
  | { type: 'reset'; runId: ''; sessionId: string; reason?: string; at: number }
  | {
      type: 'assistant';
      runId: string;
      /** sent by a tool: its id for clients. Models read it in the call, not as an answer */
      of?: string;
      text: string;
      /** what people see of it, where it repeats messages that the run sent */
      shown?: string;
      calls?: readonly ToolCall[];
      reasoning?: string;
      continuation?: unknown;
      model: string;
      usage?: Usage;
      stop: string;
      /** worker that made the call, by name; absent where there is one process only */
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
      /** nobody knows whether it ran: its worker died, and it may not run twice (RT9) */
      unknown?: boolean;
      /** messages that the tool sent: not repeated in the reply */
      sent?: readonly SentMessage[];
      /** ids of subagents whose ends it tells: not told again (AA8) */
      ends?: readonly string[];
      at: number;
    }
  | { type: 'run.end'; runId: string; status: RunStatus; error?: ErrorData; at: number };

/** A message that a tool sent: to whom, and what. */
export type SentMessage = { to: string; text: string };

export type { PromptReport, PromptSource };

/**
 * Live events of runs on Bus topic `runEventsTopic(tenant, sessionKey)`; ephemeral, in order per
 * run.
 */
export type RunEvent = { runId: string; sessionKey: string; at: number } & (
  | {
      stream: 'lifecycle';
      phase: 'start';
      startedAt: number;
      origin?: MessageOrigin;
      /** of a subagent's session: its parent's key */
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
   * `offset` = characters of this answer before the delta; a lower offset than seen replaces what
   * came after it (a restarted call)
   */
  | { stream: 'assistant'; delta: string; offset: number; call: number }
  | { stream: 'reasoning'; delta: string; offset: number; call: number }
  | { stream: 'tool'; phase: 'start'; callId: string; name: string; args: unknown }
  /** progress: what came since the last update */
  | { stream: 'tool'; phase: 'update'; callId: string; name: string; delta: string }
  | { stream: 'tool'; phase: 'end'; callId: string; name: string; result: string; isError: boolean }
  /** a call waits for a person: see the approval of that id */
  | { stream: 'tool'; phase: 'approval'; callId: string; name: string; approvalId: string }
  /** watchers drop what they hold of call `call` and later: it is made again with less (AL8) */
  | { stream: 'compaction'; phase: 'start' | 'end'; call: number; willRetry: boolean }
  /** a tool sent a message into this conversation; `id` is that of its transcript entry */
  | { stream: 'message'; id: string; text: string }
  /** a message joined the run */
  | { stream: 'steer'; of: string; text: string }
  /**
   * a subagent of the session, under the run that started it (AA8); `runId` is the parent's,
   * `childRunId` the subagent's
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
/** Every run event of a tenant. */
export const runEventsOfTenant = (tenant: string) => `run.${token(tenant)}.>`;
