/**
 * Sends answers as blocks to the connections that requested them: events of `agent`, stream
 * `block`. Reasoning is sent in separate blocks before the text.
 *
 * Invariants:
 *  1. A published block is neither withdrawn nor repeated. A repeated model call continues after
 *     it. Only if its text differs do the blocks restart, with `replace`.
 *  2. A block contains text of one model call only.
 *  3. No state is kept of ended runs, or of runs whose blocks were not requested.
 */
import type { Clock } from '../../../runtime/index.ts';
import { BlockStream, type PublishedBlock } from '../../blocks/block-stream.ts';
import { agentPayload } from './agent-payload.ts';
import { type Connection, eventHead } from '../transport/connection.ts';
import { BLOCK_RUNS_MAX } from '../limits.ts';
import type { BlockSettings } from './block-settings.ts';
import type { LiveRun, RunEnd } from './live-runs.ts';

export class RunBlocks {
  readonly #clock: Clock;
  readonly #settings: BlockSettings;
  readonly #feeds = new Map<string, Feed>();

  constructor(clock: Clock, settings: BlockSettings = {}) {
    this.#clock = clock;
    this.#settings = settings;
  }

  get byDefault(): boolean {
    return this.#settings.byDefault ?? false;
  }

  /**
   * Sends blocks of this run to the connection from now on; with `reasoning` also its reasoning.
   */
  subscribe(runId: string, connection: Connection, { reasoning = false } = {}): void {
    const feed = this.#feeds.get(runId) ?? new Feed(this.#clock, this.#settings, reasoning);
    feed.connections.add(connection);
    this.#feeds.set(runId, feed);
    const oldest = this.#feeds.keys().next();
    if (this.#feeds.size > BLOCK_RUNS_MAX && !oldest.done) this.#drop(oldest.value);
  }

  /** Moves subscriptions: `to` receives the blocks that the connection `from` subscribed to. */
  resumed(from: string, to: Connection): void {
    for (const { connections } of this.#feeds.values()) {
      if ([...connections].some(({ id }) => id === from)) connections.add(to);
    }
  }

  /** The run's text has grown or was replaced. */
  follow(live: LiveRun): void {
    this.#feeds.get(live.runId)?.follow(live);
  }

  /** The model's text is complete, because tools run next. */
  textEnded(live: LiveRun): void {
    this.#feeds.get(live.runId)?.textEnded(live);
  }

  ended(live: LiveRun, end: RunEnd): void {
    this.#feeds.get(live.runId)?.ended(live, end);
    this.#drop(live.runId);
  }

  close(): void {
    for (const runId of this.#feeds.keys()) this.#drop(runId);
  }

  #drop(runId: string): void {
    this.#feeds.get(runId)?.stop();
    this.#feeds.delete(runId);
  }
}

class Feed {
  readonly connections = new Set<Connection>();
  readonly #clock: Clock;
  readonly #answer: BlockStream;
  readonly #reasoning: BlockStream | undefined;
  #call = 0;
  #index = 0;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, options: BlockSettings, withReasoning: boolean) {
    this.#clock = clock;
    this.#answer = new BlockStream(options);
    this.#reasoning = withReasoning ? new BlockStream(options) : undefined;
  }

  follow(live: LiveRun): void {
    if (live.call !== this.#call) {
      this.textEnded(live);
      this.#call = live.call;
    }
    const now = this.#clock.monotonicMs();
    this.#followReasoning(live, now);
    this.#publish(live, this.#answer.follow(live.answer.text, now));
    this.#arm(live);
  }

  /** Reasoning comes before the text; it ends when the answer starts. */
  #followReasoning(live: LiveRun, now: number): void {
    const { text } = live.reasoning;
    if (!this.#reasoning || text === '') return;
    this.#publish(live, this.#reasoning.follow(text, now), true);
    if (live.answer.text !== '') this.#publish(live, this.#reasoning.flush(), true);
  }

  textEnded(live: LiveRun): void {
    if (this.#reasoning) this.#publish(live, this.#reasoning.end(), true);
    this.#publish(live, this.#answer.end());
  }

  ended(live: LiveRun, { status, text }: RunEnd): void {
    // No more blocks if the reply is silent, or differs from the published text.
    if (status === 'ok' && text === '') return;
    if (text.startsWith(this.#answer.fed)) this.#publish(live, this.#answer.follow(text, 0));
    this.textEnded(live);
  }

  stop(): void {
    this.#cancel?.();
  }

  #arm(live: LiveRun): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const due = [this.#reasoning?.dueAt, this.#answer.dueAt].filter((at) => at !== undefined);
    if (due.length === 0) return;
    const waitMs = Math.max(0, Math.min(...due) - this.#clock.monotonicMs());
    this.#cancel = this.#clock.after(waitMs, () => {
      const now = this.#clock.monotonicMs();
      if (this.#reasoning) this.#publish(live, this.#reasoning.due(now), true);
      this.#publish(live, this.#answer.due(now));
      this.#arm(live);
    });
  }

  #publish(live: LiveRun, blocks: readonly PublishedBlock[], isReasoning = false): void {
    for (const block of blocks) {
      const kind = isReasoning ? { reasoning: true } : {};
      const data = { ...block, call: this.#call, index: this.#index++, ...kind };
      const payload = agentPayload(live, this.#clock.wallMs(), 'block', data);
      const head = eventHead('agent', payload);
      for (const connection of this.connections) connection.event(head);
    }
  }
}
