/**
 * AfterCommits: executes what committed turns request (I2): answers, published events, effects and
 * timers. It also tracks intents in memory: which Start must be committed before a `once` effect
 * starts (G3), and which intents of a former owner are unknown (G4).
 */
import type { RemoteDispatch } from '../../effects/dispatch.ts';
import { type ErrorData, errorData } from '../../../protocols/errors.ts';
import type { DeadLetterAsk, Message } from '../../../protocols/statechart.ts';
import { inTime } from '../../clock/in-time.ts';
import type { Clock } from '../../clock/clock.ts';
import type { Position } from '../../log/log.ts';
import { type Fold, TABLE } from './fold.ts';
import type { AfterCommit } from './group.ts';
import { type Intent, decodeIntent, encodeIntent } from '../turn/intents.ts';
import type { RowPut } from './records.ts';
import type { TimerQueue } from '../input/timer-queue.ts';

/**
 * The answer for a client. `at` is the position of the record with the turn: a reader of that
 * position or later sees its rows.
 */
export type ClientAnswer = {
  readonly id: string;
  readonly result?: unknown;
  readonly error?: ErrorData;
  readonly at: readonly [shard: number, position: Position];
};

/** The world outside a shard, as far as its committed turns reach it. None of these may throw. */
export type Outside = {
  respond(inbox: string, answer: ClientAnswer): void;
  publish(topic: string, event: Message): void;
  /** runs the effect of a committed intent, at most once at a time per id and attempt */
  run(id: string, intent: Intent): void;
  /** undefined, or left out: this process may run it; else another one must */
  elsewhere?(id: string, intent: Intent): RemoteDispatch | undefined;
  /** asks the effect's reconcile hook for the outcome; without a hook an operator decides */
  reconcile(id: string, intent: Intent): void;
  abort(id: string): void;
  /**
   * Calls once for every intent that no live worker runs, at once if that is known. A runner whose
   * owner was replaced continues and reports to the next owner (A4, G6).
   * @returns a function that ends the calls
   */
  adopt(ids: readonly string[], orphaned: (id: string) => void): () => void;
  /** a machine gave up a message, which is now in the dead letters of its domain */
  abandoned?(letter: DeadLetterAsk): void;
  /** raises an alarm for operators */
  alarm(what: string): void;
};

/** Inboxes noted per pending key for repeated requests (F7). */
const WAITERS_MAX = 4;

export type AfterCommitsOptions = {
  readonly fold: Fold;
  readonly outside: Outside;
  readonly epoch: Position;
  readonly timers: TimerQueue;
  readonly wake: () => void;
};

export class AfterCommits {
  readonly #o: AfterCommitsOptions;
  /** `once` intents whose Start goes into the next record */
  #starts: string[] = [];
  /** intents started under an earlier epoch, to be declared unknown in the next record */
  #lost: string[] = [];
  /**
   * intents whose Start was committed while the owner was stopping: they certainly did not start
   */
  #unbegun: string[] = [];
  readonly #waiters = new Map<string, { inbox: string; id: string }[]>();
  /** steps that wait for transcripts, in the order of their records */
  #held: Promise<void> | undefined;
  #stopAsking: (() => void) | undefined;
  #closed = false;

  constructor(options: AfterCommitsOptions) {
    this.#o = options;
  }

  get hasStarts(): boolean {
    if (this.#closed) return this.#unbegun.length > 0;
    return this.#starts.length > 0 || this.#lost.length > 0;
  }

  /** Handles open intents of a new owner: starts those that certainly did not start. */
  resume(intents: Iterable<readonly [id: string, intent: Intent]>): void {
    const perhaps = new Map<string, Intent>();
    for (const [id, intent] of intents) {
      if (intent.cls === 'once' && intent.state === 'open') this.#begin(id, intent);
      else perhaps.set(id, intent);
    }
    if (perhaps.size > 0)
      this.#stopAsking = this.#o.outside.adopt([...perhaps.keys()], (id) =>
        this.#orphaned(id, perhaps.get(id)!),
      );
  }

  /**
   * No process runs the effect: it starts again, or a hook or an operator determines its outcome
   * (G2, G4). A decision that was made in the meantime takes precedence.
   */
  #orphaned(id: string, found: Intent): void {
    const intent = this.#closed ? undefined : this.#intent(id);
    if (intent?.state !== found.state || intent.attempt !== found.attempt) return;
    if (intent.state !== 'started') this.#begin(id, intent);
    else {
      this.#lost.push(id);
      this.#o.wake();
    }
  }

  /** Row changes for the next record, and what to do when it counts. */
  takeStarts(): { puts: RowPut[]; after: AfterCommit[] } {
    const puts: RowPut[] = [];
    const after: AfterCommit[] = [];
    const move = (id: string, from: Intent['state'], change: Partial<Intent>) => {
      const intent = this.#intent(id);
      if (intent?.state !== from) return;
      puts.push([TABLE.intent, id, encodeIntent({ ...intent, ...change })]);
      after.push({ kind: 'start', intent: id });
    };
    if (!this.#closed) {
      for (const id of this.#starts) move(id, 'open', { state: 'started', epoch: this.#o.epoch });
      for (const id of this.#lost) move(id, 'started', { state: 'unknown' });
    }
    for (const id of this.#unbegun) move(id, 'started', { state: 'open', epoch: 0 });
    this.#starts = [];
    this.#lost = [];
    this.#unbegun = [];
    return { puts, after };
  }

  /**
   * @param position of the record that counts
   * @param ready resolves when readers can see the record; undefined if they already can
   */
  run(after: readonly AfterCommit[], position: Position, ready?: Promise<void>): void {
    for (const step of after) if (step.kind === 'arm') this.#o.timers.arm(step.due, step.timer);
    const go = () => {
      for (const step of after) this.#do(step, position);
    };
    if (!ready && !this.#held) return go();
    const held = Promise.all([this.#held, ready]).then(() => {
      // This promise is not awaited: a throw would end the process and hold all later answers.
      for (const step of after) this.#try(() => this.#do(step, position));
      if (this.#held === held) this.#held = undefined;
    });
    this.#held = held;
  }

  /** Resolves when everything that committed records request is done, or after a timeout. */
  async done(clock: Clock, withinMs: number): Promise<void> {
    let late = false;
    const released = async () => {
      while (this.#held && !late) await this.#held;
    };
    await inTime(clock, released(), withinMs, () => (late = true));
  }

  /**
   * Starts nothing more; outputs of the last records are still sent. Running effects continue and
   * report by mailbox to the next owner of the shard (A4, G6).
   */
  close(): void {
    this.#closed = true;
    this.#stopAsking?.();
  }

  #try(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#o.outside.alarm(`shard ${this.#o.fold.shard}: ${errorData(error).message}`);
    }
  }

  #do(step: AfterCommit, position: Position): void {
    const { outside } = this.#o;
    switch (step.kind) {
      case 'respond':
        return this.#respond(step, position);
      case 'wait':
        return this.#wait(step);
      case 'publish':
        return outside.publish(step.topic, step.event);
      case 'start': {
        const intent = this.#intent(step.intent);
        if (intent) this.#begin(step.intent, intent);
        return;
      }
      case 'abort':
        return outside.abort(step.intent);
      case 'arm':
        return;
      case 'reported':
        return step.onCounts();
      case 'abandoned':
        return outside.abandoned?.(step.letter);
      case 'span':
        return step.span.end();
    }
  }

  #begin(id: string, intent: Intent): void {
    if (this.#closed) {
      if (intent.state === 'started') this.#unbegun.push(id);
      return;
    }
    const { outside, wake } = this.#o;
    const elsewhere = outside.elsewhere?.(id, intent);
    if (elsewhere?.ready) return void elsewhere.ready.then(() => this.#beginIfSame(id, intent));
    if (intent.cls === 'once' && intent.state === 'open') {
      this.#starts.push(id);
      return wake();
    }
    if (elsewhere) return void elsewhere.run().then(() => this.#watch(id));
    if (intent.state === 'unknown') return outside.reconcile(id, intent);
    outside.run(id, intent);
  }

  /** Whether the effect was not started: its intent still waits, with the same attempt. */
  #beginIfSame(id: string, before: Intent): void {
    const intent = this.#closed ? undefined : this.#intent(id);
    if (intent?.state === before.state && intent.attempt === before.attempt)
      this.#begin(id, intent);
  }

  /**
   * Another worker runs the effect. If that worker ends first, the class decides about a restart.
   */
  #watch(id: string): void {
    const intent = this.#closed ? undefined : this.#intent(id);
    // Asks the hook once per unknown outcome; its answer may be that an operator must decide.
    if (!intent || intent.state === 'unknown') return;
    this.#o.outside.adopt([id], () => this.#orphaned(id, intent));
  }

  #respond(
    { inbox, id, keyRow, result, error }: Extract<AfterCommit, { kind: 'respond' }>,
    position: Position,
  ): void {
    const at = [this.#o.fold.shard, position] as const;
    const given = error ? { error, at } : { result, at };
    const waiters = keyRow ? (this.#waiters.get(keyRow) ?? []) : [];
    for (const to of [{ inbox, id }, ...waiters]) {
      this.#o.outside.respond(to.inbox, { id: to.id, ...given });
    }
    if (keyRow) this.#waiters.delete(keyRow);
  }

  #wait({ inbox, id, keyRow }: Extract<AfterCommit, { kind: 'wait' }>): void {
    const waiting = this.#waiters.get(keyRow) ?? [];
    this.#waiters.set(keyRow, [...waiting, { inbox, id }].slice(-WAITERS_MAX));
  }

  #intent(id: string): Intent | undefined {
    const bytes = this.#o.fold.get(TABLE.intent, id);
    return bytes && decodeIntent(bytes);
  }
}
