/**
 * The live runs of a tenant: the text of their answers, the waiters for their results, and the
 * results. Only this class holds text of runs, and only while they are live.
 *
 * Boundary: receives run events from the Bus, which may lose them, and reads committed rows, which
 * are complete. It is independent of connections and frames, and notifies one listener.
 *
 * Invariants:
 *  1. At most one final event is passed on per run, even if it arrives several times or from
 *     several sources.
 *  2. Each waiter is called exactly once, even if the Bus lost the final event: rows are polled
 *     once per second.
 *  3. Of an ended run only its id and its number of events are kept, for a bounded time.
 *  4. The text is that of one model call. A new call, or a repeat with a shorter context, starts
 *     with an empty text.
 */
import { address } from '../../../protocols/address.ts';
import { defined } from '../../../protocols/defined.ts';
import type { ErrorData } from '../../../protocols/errors.ts';
import type {
  MessageOrigin,
  RunEvent,
  RunRow,
  Usage,
  Verbosity,
} from '../../../protocols/session.ts';
import { ownText } from '../../../protocols/own-text.ts';
import type { Clock, Index } from '../../../runtime/index.ts';
import {
  ENDED_RUNS_MAX,
  LIVE_RUNS_MAX,
  POLL_MS,
  POLLS_MISSING_MAX,
  SILENT_RUN_MS,
} from '../limits.ts';
import { TextStream } from './text-stream.ts';

export type LiveRun = {
  readonly runId: string;
  readonly sessionKey: string;
  startedAt: number | undefined;
  readonly answer: TextStream;
  readonly reasoning: TextStream;
  /** number of the model call that produced the texts */
  call: number;
  /** unpublished progress of tools, by call id */
  readonly updates: Map<string, ToolUpdate>;
  /** ids of the messages that its tools sent to the conversation */
  readonly messages: Set<string>;
  /** as requested; undefined if the request did not set it */
  verbose: Verbosity | undefined;
  /** what started it, if not a user; for a subagent's session its parent */
  startedBy: { readonly origin?: MessageOrigin; readonly spawnedBy?: string };
  /** number of the last published event of this run */
  seq: number;
  /** monotonic milliseconds; no delta is published before */
  quietUntil: number;
  lastEventAt: number;
};

export type ToolUpdate = { readonly name: string; readonly delta: string };

export type RunEnd = {
  readonly runId: string;
  readonly sessionKey: string;
  readonly status: 'ok' | 'error' | 'aborted' | 'timeout';
  readonly startedAt: number | undefined;
  readonly endedAt: number;
  readonly text: string;
  readonly error: ErrorData | undefined;
  readonly usage: Usage | undefined;
  readonly model: string | undefined;
  /** the run that the message joined, and with which it ended */
  readonly joined: string | undefined;
  /** number of messages that its tools sent to the conversation */
  readonly messages?: number | undefined;
};

/** The run that an event names; `seq` is that of its last event. */
export type RunPosition = Pick<LiveRun, 'runId' | 'sessionKey'> & { seq: number };

/** Receives the changes of live runs. `live` is the current state of the run. */
export type RunListener = {
  started(live: LiveRun): void;
  /** its texts have unpublished changes */
  streamed(live: LiveRun): void;
  tool(live: LiveRun, event: RunEvent & { stream: 'tool' }): void;
  /** the model's context was compacted; the texts were dropped if the call is repeated */
  compacted(live: LiveRun, event: RunEvent & { stream: 'compaction' }): void;
  /** a tool of the run sent a message to the conversation */
  messaged(live: LiveRun, event: RunEvent & { stream: 'message' }): void;
  /** a message joined the run */
  steered(live: LiveRun, event: RunEvent & { stream: 'steer' }): void;
  /** a subagent of the run started or ended; the run itself may have ended before */
  subagent(run: RunPosition, event: RunEvent & { stream: 'subagent' }): void;
  /** publishes all pending changes now */
  flush(live: LiveRun): void;
  ended(live: LiveRun, end: RunEnd): void;
};

/** Receives the end, or undefined when the run's row is gone and no end was received. */
export type Waiter = (end: RunEnd | undefined) => void;

type Waiting = {
  readonly waiters: Set<Waiter>;
  readonly sessionKey?: string;
  pollsMissing: number;
};

/** @returns undefined while the run has not ended */
export const endOfRow = (row: RunRow): RunEnd | undefined => {
  if (row.status === 'queued' || row.status === 'running') return undefined;
  return {
    runId: row.runId,
    sessionKey: row.sessionKey,
    status: row.status,
    startedAt: row.startedAt,
    endedAt: row.endedAt ?? row.acceptedAt,
    text: row.text ?? '',
    error: row.error,
    usage: row.usage,
    model: row.model,
    joined: row.joined,
    messages: row.messages,
  };
};

export class LiveRuns {
  readonly #index: Index;
  readonly #tenant: string;
  readonly #clock: Clock;
  readonly #listener: RunListener;
  readonly #live = new Map<string, LiveRun>();
  readonly #ended = new Map<string, RunPosition>();
  /** requested verbosity of runs that have no event yet */
  readonly #verbose = new Map<string, Verbosity>();
  /** runs that messages joined, by the message's own run id */
  readonly #joined = new Map<string, string>();
  readonly #waiting = new Map<string, Waiting>();
  #cancelPoll: (() => void) | undefined;
  #closed = false;

  constructor(index: Index, tenant: string, clock: Clock, listener: RunListener) {
    this.#index = index;
    this.#tenant = tenant;
    this.#clock = clock;
    this.#listener = listener;
  }

  /** @param sessionKey of a run whose session is known: only its shard is read */
  row(runId: string, sessionKey?: string): RunRow | undefined {
    const of = sessionKey === undefined ? undefined : address(this.#tenant, 'session', sessionKey);
    return this.#index.get<RunRow>('runs', this.#tenant, runId, of);
  }

  liveRun(runId: string): LiveRun | undefined {
    return this.#live.get(runId);
  }

  /** Sets the verbosity of a run's tool events, before the run starts. */
  show(runId: string, verbose: Verbosity): void {
    this.#verbose.set(runId, verbose);
    if (this.#verbose.size > LIVE_RUNS_MAX) dropOldest(this.#verbose);
  }

  /**
   * The answer of a live run so far. All of it is published first, so later deltas continue from
   * this text.
   */
  textOf(runId: string): string {
    const live = this.#live.get(runId);
    if (live === undefined) return '';
    this.#listener.flush(live);
    return live.answer.text;
  }

  /** Processes one event from the Bus. */
  onEvent(event: RunEvent): void {
    if (event.stream === 'subagent') return this.#onSubagent(event);
    if (this.#ended.has(event.runId)) return;
    const live = this.#live.get(event.runId) ?? this.#start(event);
    live.lastEventAt = this.#clock.monotonicMs();
    switch (event.stream) {
      case 'lifecycle':
        return this.#onLifecycle(live, event);
      case 'tool':
        return this.#listener.tool(live, event);
      case 'compaction':
        if (event.willRetry && live.call >= event.call) dropTexts(live);
        return this.#listener.compacted(live, event);
      case 'message':
        return this.#onMessage(live, event);
      case 'steer':
        this.#onSteer(event);
        return this.#listener.steered(live, event);
      default:
        return this.#onText(live, event);
    }
  }

  /** The Bus may deliver an event twice. */
  #onMessage(live: LiveRun, event: RunEvent & { stream: 'message' }): void {
    if (live.messages.has(event.id)) return;
    live.messages.add(event.id);
    this.#listener.messaged(live, event);
  }

  /** The run may have ended long ago, or have started before this gateway. */
  #onSubagent(event: RunEvent & { stream: 'subagent' }): void {
    const { runId, sessionKey } = event;
    const known = this.#live.get(runId) ?? this.#ended.get(runId);
    if (known) return this.#listener.subagent(known, event);
    const row = this.row(runId, sessionKey);
    if (row && !endOfRow(row)) return this.#listener.subagent(this.#start(event), event);
    this.#listener.subagent(this.#remember({ runId, sessionKey, seq: 0 }), event);
  }

  /** @returns what is kept of it */
  #remember({ runId, sessionKey, seq }: RunPosition): RunPosition {
    const ended = { runId: ownText(runId), sessionKey: ownText(sessionKey), seq };
    this.#ended.set(ended.runId, ended);
    if (this.#ended.size > ENDED_RUNS_MAX) dropOldest(this.#ended);
    return ended;
  }

  #onText(live: LiveRun, event: RunEvent & { stream: 'assistant' | 'reasoning' }): void {
    if (event.call !== live.call) {
      dropTexts(live);
      live.call = event.call;
    }
    const stream = event.stream === 'assistant' ? live.answer : live.reasoning;
    stream.apply(event.delta, event.offset);
    if (stream.pending) this.#listener.streamed(live);
  }

  #onSteer({ of, runId }: { of: string; runId: string }): void {
    this.#joined.set(of, runId);
    if (this.#joined.size > ENDED_RUNS_MAX) dropOldest(this.#joined);
  }

  /**
   * Calls the waiter once when the run has ended, or immediately if it already has. Returns a
   * function that stops waiting. The run need not exist yet. @param sessionKey if it is known
   */
  wait(runId: string, waiter: Waiter, sessionKey?: string): () => void {
    const row = this.row(runId, sessionKey);
    const end = row && endOfRow(row);
    if (end) {
      waiter(end);
      return () => {};
    }
    const known = this.#waiting.get(runId);
    const waiting = known ?? { waiters: new Set(), pollsMissing: 0, ...defined({ sessionKey }) };
    waiting.waiters.add(waiter);
    this.#waiting.set(runId, waiting);
    this.#poll();
    return () => {
      waiting.waiters.delete(waiter);
      if (waiting.waiters.size === 0 && this.#waiting.get(runId) === waiting) {
        this.#waiting.delete(runId);
      }
    };
  }

  close(): void {
    this.#closed = true;
    this.#cancelPoll?.();
    this.#waiting.clear();
    this.#live.clear();
  }

  #start(event: { runId: string; sessionKey: string }): LiveRun {
    const live: LiveRun = {
      runId: event.runId,
      sessionKey: event.sessionKey,
      startedAt: undefined,
      answer: new TextStream(),
      reasoning: new TextStream(),
      call: 0,
      updates: new Map(),
      messages: new Set(),
      verbose: this.#verbose.get(event.runId),
      startedBy: {},
      seq: 0,
      quietUntil: 0,
      lastEventAt: this.#clock.monotonicMs(),
    };
    this.#verbose.delete(event.runId);
    this.#live.set(event.runId, live);
    if (this.#live.size > LIVE_RUNS_MAX) dropOldest(this.#live);
    this.#poll();
    return live;
  }

  #onLifecycle(live: LiveRun, event: RunEvent & { stream: 'lifecycle' }): void {
    if (event.phase === 'start') {
      // After a take-over of the run, its new owner reports a second start.
      if (live.startedAt !== undefined) return;
      live.startedAt = event.startedAt;
      const { origin, spawnedBy } = event;
      live.startedBy = { ...(origin && { origin }), ...(spawnedBy && { spawnedBy }) };
      this.#listener.started(live);
      return;
    }
    live.startedAt ??= event.startedAt;
    const row = this.row(event.runId, event.sessionKey);
    this.#end(live, {
      runId: event.runId,
      sessionKey: event.sessionKey,
      status: event.status,
      startedAt: event.startedAt,
      endedAt: event.endedAt,
      text: event.text ?? '',
      error: event.phase === 'error' ? event.error : undefined,
      usage: event.phase === 'end' ? event.usage : undefined,
      model: row?.model,
      joined: row?.joined ?? this.#joined.get(event.runId),
      messages: event.messages,
    });
  }

  #end(live: LiveRun, end: RunEnd): void {
    this.#live.delete(end.runId);
    this.#joined.delete(end.runId);
    const ended = this.#remember(live);
    this.#listener.ended(live, end);
    ended.seq = live.seq;
    this.#answer(end.runId, end);
  }

  #answer(runId: string, end: RunEnd | undefined): void {
    const waiting = this.#waiting.get(runId);
    if (waiting === undefined) return;
    this.#waiting.delete(runId);
    for (const waiter of waiting.waiters) waiter(end);
  }

  /** Schedules the poll unless it is scheduled or there is nothing to look up. */
  #poll(): void {
    if (this.#cancelPoll || this.#closed || (this.#waiting.size === 0 && this.#live.size === 0)) {
      return;
    }
    this.#cancelPoll = this.#clock.after(POLL_MS, () => {
      this.#cancelPoll = undefined;
      this.#lookUpSilent();
      this.#lookUpAwaited();
      this.#poll();
    });
  }

  #lookUpSilent(): void {
    const silentSince = this.#clock.monotonicMs() - SILENT_RUN_MS;
    for (const live of this.#live.values()) {
      if (live.lastEventAt > silentSince) continue;
      const row = this.row(live.runId, live.sessionKey);
      const end = row && endOfRow(row);
      if (end) this.#end(live, end);
      else live.lastEventAt = this.#clock.monotonicMs();
    }
  }

  #lookUpAwaited(): void {
    for (const [runId, waiting] of this.#waiting) {
      const row = this.row(runId, waiting.sessionKey);
      const end = row && endOfRow(row);
      if (end && this.#ended.has(runId)) this.#answer(runId, end);
      else if (end) this.#end(this.#live.get(runId) ?? this.#start(end), end);
      else if (row) waiting.pollsMissing = 0;
      else if (++waiting.pollsMissing >= POLLS_MISSING_MAX) this.#answer(runId, undefined);
    }
  }
}

const dropTexts = (live: LiveRun): void => {
  live.answer.apply('', 0);
  live.reasoning.apply('', 0);
};

const dropOldest = (kept: Map<string, unknown>): void => {
  const oldest = kept.keys().next();
  if (!oldest.done) kept.delete(oldest.value);
};
