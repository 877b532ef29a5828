/**
 * RunBlocks: answers as blocks, for the connections that asked for them (AL4): events of `agent`,
 * stream `block`.
 *
 * Invariants:
 *  1. What was told in a block is not taken back and not told again: a model call that is made
 *     again goes on behind it. Only when it says other words, blocks begin again, with `replace`.
 *  2. Blocks of one model call never hold text of another.
 *  3. Nothing is held of a run that ended or that nobody asked about.
 */
import type { Clock } from '../../runtime/index.ts';
import { type Block, BlockChunker } from '../blocks/chunker.ts';
import { Coalescer } from '../blocks/coalescer.ts';
import { agentPayload } from './agent-payload.ts';
import { type Connection, eventHead } from './connection.ts';
import { BLOCK_RUNS_MAX } from './limits.ts';
import type { LiveRun, RunEnd } from './run-book.ts';

export class RunBlocks {
  readonly #clock: Clock;
  readonly #feeds = new Map<string, Feed>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** From now on the connection is told the blocks of this run. */
  want(runId: string, connection: Connection): void {
    const feed = this.#feeds.get(runId) ?? new Feed(this.#clock);
    feed.connections.add(connection);
    this.#feeds.set(runId, feed);
    const oldest = this.#feeds.keys().next();
    if (this.#feeds.size > BLOCK_RUNS_MAX && !oldest.done) this.#drop(oldest.value);
  }

  /** Who was told on the connection `from` is told on `to` as well. */
  moved(from: string, to: Connection): void {
    for (const { connections } of this.#feeds.values()) {
      if ([...connections].some(({ id }) => id === from)) connections.add(to);
    }
  }

  /** The run's text is longer, or another one. */
  follow(live: LiveRun): void {
    this.#feeds.get(live.runId)?.follow(live);
  }

  /** What the model said so far is all of it: tools run. */
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
  #chunker = new BlockChunker();
  readonly #coalescer = new Coalescer();
  #call = 0;
  /** the text of the present call that went into the chunker */
  #fed = '';
  #index = 0;
  #replaces = false;
  #cancel: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  follow(live: LiveRun): void {
    if (live.call !== this.#call) {
      this.textEnded(live);
      this.#call = live.call;
    }
    this.#tell(live, this.#coalescer.add(this.#feed(live.answer.text), this.#clock.monotonicMs()));
    this.#arm(live);
  }

  textEnded(live: LiveRun): void {
    const last = this.#chunker.end();
    this.#tell(live, [...this.#coalescer.add(last, 0), ...this.#coalescer.end()]);
    this.#startAnew();
  }

  ended(live: LiveRun, { status, text }: RunEnd): void {
    // A reply that is silent, or not these words, has no more blocks.
    if (status === 'ok' && text === '') return;
    if (text.startsWith(this.#fed)) this.#tell(live, this.#coalescer.add(this.#feed(text), 0));
    this.textEnded(live);
  }

  stop(): void {
    this.#cancel?.();
  }

  /** The blocks that are complete by the text as it is now. */
  #feed(text: string): readonly Block[] {
    const { told } = this.#chunker;
    if (!text.startsWith(this.#fed)) {
      // A call that is made again has to come as far as it was.
      if (this.#fed.startsWith(text)) return [];
      if (text.slice(0, told) === this.#fed.slice(0, told)) {
        this.#chunker.forgetRest();
        this.#fed = text.slice(0, told);
      } else {
        this.#startAnew();
        this.#replaces = true;
      }
    }
    const blocks = this.#chunker.push(text.slice(this.#fed.length));
    this.#fed = text;
    return blocks;
  }

  #startAnew(): void {
    this.#chunker = new BlockChunker();
    this.#fed = '';
  }

  #arm(live: LiveRun): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const { dueAt } = this.#coalescer;
    if (dueAt === undefined) return;
    const waitMs = Math.max(0, dueAt - this.#clock.monotonicMs());
    this.#cancel = this.#clock.after(waitMs, () => {
      this.#tell(live, this.#coalescer.due(this.#clock.monotonicMs()));
      this.#arm(live);
    });
  }

  #tell(live: LiveRun, blocks: readonly Block[]): void {
    for (const { text, from, to } of blocks) {
      const data = { text, from, to, call: this.#call, index: this.#index++, ...this.#replacing() };
      const ts = this.#clock.wallMs();
      const payload = agentPayload(live, ts, 'block', data);
      const head = eventHead('agent', payload);
      for (const connection of this.connections) connection.event(head);
    }
  }

  #replacing(): { replace?: true } {
    const replaces = this.#replaces;
    this.#replaces = false;
    return replaces ? { replace: true } : {};
  }
}
