/**
 * Publishes the progress of runs as `agent` and `chat` events to every connected operator.
 *
 * Invariants:
 *  1. Per run and connection: `agent` lifecycle start, deltas, exactly one lifecycle end or error.
 *     After all other events of the run, exactly one `chat` final, aborted or error. A message that
 *     a tool sends has one `chat` final under its own id.
 *  2. Deltas are joined: at most one per run and interval. The last ones precede the end, so a
 *     client that appends all deltas has the complete text.
 *  3. An event is encoded once for all connections.
 *  4. A lagging client misses deltas and progress of tools, never an end. When it catches up, it
 *     receives the whole text so far. The run never waits for it.
 */
import { textWithFiles } from '../../../protocols/content.ts';
import { ERRORS } from '../../../protocols/errors.ts';
import type { ChatEvent } from '../../../protocols/gateway/index.ts';
import type { RunEvent, Usage } from '../../../protocols/session.ts';
import type { Clock } from '../../../runtime/index.ts';
import { agentPayload } from './agent-payload.ts';
import { type Connection, type EventHead, eventHead } from '../transport/connection.ts';
import {
  STREAM_INTERVAL_LONG_MS,
  STREAM_INTERVAL_MS,
  STREAM_LONG_CHARACTERS,
  TOOL_UPDATE_CHARACTERS_MAX,
} from '../limits.ts';
import type { RunBlocks } from './run-blocks.ts';
import type { LiveRun, RunEnd, RunListener, RunPosition } from './live-runs.ts';
import { isSilent, mayBeSilent } from './silent-text.ts';
import { agentOf } from '../../../operations/sessions/session-key.ts';

/** The text so far and its new part; with `replace` the new part is the whole text. */
type TextChange = { readonly text: string; readonly delta: string; readonly replace: boolean };

export class RunEvents implements RunListener {
  readonly #connections: Iterable<Connection>;
  readonly #clock: Clock;
  readonly #blocks: RunBlocks;
  /** runs with pending deltas that wait for the end of their interval */
  readonly #held = new Set<LiveRun>();
  #cancelTimer: (() => void) | undefined;

  /** @param connections the receivers; the set may change at any time */
  constructor(connections: Iterable<Connection>, clock: Clock, blocks: RunBlocks) {
    this.#connections = connections;
    this.#clock = clock;
    this.#blocks = blocks;
  }

  started(live: LiveRun): void {
    const { startedAt, sessionKey, startedBy } = live;
    const data = { phase: 'start', startedAt, sessionKey, ...startedBy };
    this.#agent(live, 'lifecycle', data);
  }

  streamed(live: LiveRun): void {
    this.#blocks.follow(live);
    this.#hold(live);
  }

  /** Text before the tool call is published first; progress is joined like deltas. */
  tool(live: LiveRun, event: RunEvent & { stream: 'tool' }): void {
    if (event.phase === 'update') {
      const { callId, name, delta } = event;
      const joined = (live.updates.get(callId)?.delta ?? '') + delta;
      live.updates.set(callId, { name, delta: joined.slice(-TOOL_UPDATE_CHARACTERS_MAX) });
      this.#hold(live);
      return;
    }
    if (event.phase === 'start') this.#blocks.textEnded(live);
    this.flush(live);
    this.#agent(live, 'tool', toolData(event, showsResults(live)), wantsTools);
  }

  compacted(live: LiveRun, { phase, willRetry }: RunEvent & { stream: 'compaction' }): void {
    this.flush(live);
    this.#agent(live, 'compaction', { phase, willRetry });
  }

  /** The message is complete at once: it has its own `chat` final while the run continues. */
  messaged(live: LiveRun, { id, ...said }: RunEvent & { stream: 'message' }): void {
    const text = textWithFiles(said);
    this.flush(live);
    this.#agent(live, 'message', { id, text });
    const { sessionKey } = live;
    const about = { runId: id, sessionKey, agentId: agentOf(sessionKey), seq: 1 };
    const reply = message(text, this.#clock.wallMs());
    const chat: ChatEvent = { ...about, state: 'final', message: reply, stopReason: 'message' };
    const head = eventHead('chat', chat);
    for (const connection of this.#connections) connection.event(head);
  }

  steered(live: LiveRun, { of, text }: RunEvent & { stream: 'steer' }): void {
    this.flush(live);
    this.#agent(live, 'steer', { of, text });
  }

  /** Published under the run that started the subagent, which may have ended. */
  subagent(run: RunPosition, event: RunEvent & { stream: 'subagent' }): void {
    const payload = agentPayload(run, this.#clock.wallMs(), 'subagent', subagentData(event));
    const head = eventHead('agent', payload);
    for (const connection of this.#connections) connection.event(head);
  }

  /** The end of a chat command, which is not a run. */
  sendCommandResult(end: RunEnd, connections: Iterable<Connection>): void {
    const head = eventHead('chat', chatEnd({ ...end, seq: 0 }, end, ''));
    for (const connection of connections) connection.event(head);
  }

  ended(live: LiveRun, end: RunEnd): void {
    this.#held.delete(live);
    this.flush(live, isSilent);
    this.#blocks.ended(live, end);
    const { startedAt, endedAt, status, error } = end;
    const failed = status === 'error' || status === 'timeout';
    this.#agent(live, 'lifecycle', {
      phase: failed ? 'error' : 'end',
      startedAt,
      endedAt,
      ...(status === 'aborted' ? { aborted: true } : {}),
      ...(failed ? { error: error?.message ?? `the run ended by ${status}` } : {}),
      ...(end.usage ? { usage: clientUsage(end.usage) } : {}),
    });
    const head = eventHead('chat', chatEnd(live, end, live.answer.text));
    for (const connection of this.#connections) {
      connection.caughtUp(live.runId);
      connection.event(head);
    }
  }

  close(): void {
    this.#cancelTimer?.();
    this.#held.clear();
    this.#blocks.close();
  }

  #hold(live: LiveRun): void {
    if (this.#clock.monotonicMs() >= live.quietUntil) {
      this.flush(live);
      return;
    }
    this.#held.add(live);
    this.#arm();
  }

  #arm(): void {
    this.#cancelTimer ??= this.#clock.after(STREAM_INTERVAL_MS, () => {
      this.#cancelTimer = undefined;
      const now = this.#clock.monotonicMs();
      for (const live of this.#held) {
        if (now < live.quietUntil) continue;
        this.#held.delete(live);
        this.flush(live);
      }
      if (this.#held.size > 0) this.#arm();
    });
  }

  /** Publishes what is new since the last flush, except an answer that is `withheld`. */
  flush(live: LiveRun, withheld: typeof mayBeSilent = mayBeSilent): void {
    live.quietUntil = this.#clock.monotonicMs() + intervalFor(live.answer.text.length);
    if (live.reasoning.pending) {
      const change = { text: live.reasoning.text, ...live.reasoning.take() };
      this.#deltas(live, [this.#agentText(live, 'reasoning', change)]);
    }
    if (live.answer.pending && !withheld(live.answer.text, live.startedBy.origin))
      this.#answer(live);
    for (const [toolCallId, { name, delta }] of live.updates) {
      const data = { phase: 'update', name, toolCallId };
      const shown = showsResults(live) ? { ...data, partialResult: delta } : data;
      this.#agent(live, 'tool', shown, (each) => wantsTools(each) && !each.lagging);
    }
    live.updates.clear();
  }

  #answer(live: LiveRun): void {
    const change = { text: live.answer.text, ...live.answer.take() };
    this.#deltas(live, this.#answerHeads(live, change), () => {
      const { text } = change;
      return this.#answerHeads(live, { text, delta: text, replace: true });
    });
  }

  #answerHeads(live: LiveRun, change: TextChange): readonly EventHead[] {
    const chat = chatDelta(live, this.#clock.wallMs(), change);
    return [this.#agentText(live, 'assistant', change), eventHead('chat', chat)];
  }

  #agentText(live: LiveRun, stream: string, { text, delta, replace }: TextChange): EventHead {
    const data = replace ? { text, delta, replace } : { text, delta };
    return eventHead('agent', agentPayload(live, this.#clock.wallMs(), stream, data));
  }

  /** @param whole encodes the whole text for connections that missed deltas; called at most once */
  #deltas(live: LiveRun, heads: readonly EventHead[], whole?: () => readonly EventHead[]): void {
    let wholeHeads: readonly EventHead[] | undefined;
    for (const connection of this.#connections) {
      if (connection.lagging) {
        connection.miss(live.runId);
        continue;
      }
      const behind = whole !== undefined && connection.caughtUp(live.runId);
      if (behind) wholeHeads ??= whole();
      for (const head of behind ? (wholeHeads ?? heads) : heads) connection.event(head);
    }
  }

  #agent(
    live: LiveRun,
    stream: string,
    data: object,
    wants?: (connection: Connection) => boolean,
  ): void {
    const head = eventHead('agent', agentPayload(live, this.#clock.wallMs(), stream, data));
    for (const connection of this.#connections) {
      if (wants === undefined || wants(connection)) connection.event(head);
    }
  }
}

const wantsTools = ({ client }: Connection): boolean => client?.caps.has('tool-events') === true;

/** As in OpenClaw, only a request for full verbosity receives results. */
const showsResults = ({ verbose }: LiveRun): boolean => verbose === undefined || verbose === 'full';

type ToolStep = Exclude<RunEvent & { stream: 'tool' }, { phase: 'update' }>;

const toolData = (event: ToolStep, withResult: boolean): object => {
  const { callId: toolCallId, name, phase } = event;
  switch (phase) {
    case 'start':
      return { phase, name, toolCallId, args: event.args };
    case 'approval':
      return { phase, name, toolCallId, approvalId: event.approvalId };
    case 'end':
      return {
        phase: 'result',
        name,
        toolCallId,
        isError: event.isError,
        ...(withResult ? { result: event.result } : {}),
      };
  }
};

/** `runId` and `sessionKey` are the subagent's, as in the lifecycle events of its own run. */
const subagentData = (event: RunEvent & { stream: 'subagent' }): object => {
  const { id, phase, childRunId: runId, childSessionKey: sessionKey, label } = event;
  const parent = { parentSessionKey: event.sessionKey };
  const about = {
    phase,
    id,
    runId,
    sessionKey,
    ...parent,
    ...(label === undefined ? {} : { label }),
  };
  if (event.phase === 'start') return { ...about, startedAt: event.startedAt };
  const { endedAt, outcome } = event;
  const why = event.phase === 'error' ? { errorMessage: event.errorMessage } : {};
  return { ...about, endedAt, outcome, ...why };
};

/** The interval grows with the text, because each event contains the whole text. */
const intervalFor = (characters: number): number => {
  const share = Math.min(1, characters / STREAM_LONG_CHARACTERS);
  return STREAM_INTERVAL_MS + share * (STREAM_INTERVAL_LONG_MS - STREAM_INTERVAL_MS);
};

const aboutChat = (live: RunPosition) => ({
  runId: live.runId,
  sessionKey: live.sessionKey,
  agentId: agentOf(live.sessionKey),
  seq: ++live.seq,
});

const message = (text: string, timestamp: number) => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
  timestamp,
});

const chatDelta = (
  live: LiveRun,
  now: number,
  { text, delta, replace }: TextChange,
): ChatEvent => ({
  ...aboutChat(live),
  state: 'delta',
  deltaText: delta,
  ...(replace ? { replace } : {}),
  message: message(text, live.startedAt ?? now),
});

const chatEnd = (live: RunPosition, end: RunEnd, streamed: string): ChatEvent => {
  const about = aboutChat(live);
  // The joined run publishes the text; a second copy would be displayed twice.
  if (end.joined !== undefined && end.status === 'ok') {
    return { ...about, state: 'final', stopReason: 'joined' };
  }
  // An interrupted answer is not in the transcript, so the streamed part is sent.
  const text = end.joined === undefined ? end.text || streamed : '';
  const said = text === '' ? {} : { message: message(text, end.endedAt) };
  if (end.status === 'ok') {
    const usage = end.usage ? { usage: clientUsage(end.usage) } : {};
    return {
      ...about,
      state: 'final',
      message: message(end.text, end.endedAt),
      ...usage,
      stopReason: 'stop',
    };
  }
  if (end.status === 'aborted')
    return { ...about, state: 'aborted', ...said, stopReason: 'aborted' };
  return {
    ...about,
    state: 'error',
    ...said,
    errorMessage: end.error?.message ?? `the run ended by ${end.status}`,
    errorKind: errorKind(end),
  };
};

type ErrorKind = 'timeout' | 'rate_limit' | 'context_length' | 'refusal' | 'unknown';

const errorKind = ({ status, error }: RunEnd): ErrorKind => {
  if (status === 'timeout' || error?.code === 'DEADLINE_EXCEEDED') return 'timeout';
  const reason = error?.details?.['reason'];
  if (reason === 'context_length' || reason === 'refusal') return reason;
  return error && ERRORS[error.code].http === 429 ? 'rate_limit' : 'unknown';
};

/** Usage in the shape of the gateway protocol. */
export const clientUsage = ({ inputTokens, outputTokens, costUsd }: Usage) => ({
  input: inputTokens,
  output: outputTokens,
  total: inputTokens + outputTokens,
  ...(costUsd === undefined ? {} : { costUsd }),
});
