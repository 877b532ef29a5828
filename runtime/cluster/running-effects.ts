/**
 * RunningEffects: finds which effects of a shard with a new owner still run elsewhere (G2, G4). A
 * runner outlives its owner: it continues and reports to the mailbox (A4, G6). So a new owner asks
 * every live node before it starts an effect again, and repeats the question: an effect that no
 * live node runs is orphaned.
 *
 * The answers are hints: `repeatable` and `keyed` effects may run twice, and a `once` effect that
 * had started is never started again here (rule G).
 */
import { escapeToken } from '../../protocols/subjects.ts';
import type { Bus } from '../bus/bus.ts';
import type { Clock } from '../clock/clock.ts';
import type { HandedOver } from '../effects/dispatch.ts';
import type { Intent } from '../shard/turn/intents.ts';

export type RunningEffectsOptions = {
  readonly bus: Bus;
  readonly clock: Clock;
  /** this process */
  readonly node: string;
  /** the other live nodes */
  readonly others: () => readonly string[];
  readonly isRunning: (id: string) => boolean;
  readonly abort: (id: string) => void;
  /** Starts the effect here for another node; false if this node may not run it (any more). */
  readonly run: (id: string, intent: Intent) => boolean;
  /** how long to wait for a silent node that counts as alive; default 2,000 */
  readonly graceMs?: number;
};

const GRACE_MS = 2_000;
const ASK_AGAIN_MS = 200;
/** How often to ask about effects that run elsewhere. */
const CHECK_MS = 2_000;
/** Time for an outcome that was just reported to pass through the mailbox. */
const REPORTED_MS = { atTakeOver: 100, seenRunning: 1_000 };
const IDS_PER_QUESTION = 500;
/** A worker that is asked to run an effect answers within this time, or is asked again later. */
const HAND_OVER_MS = 2_000;

type Handed = { readonly id: string; readonly intent: Intent };
const runSubject = (node: string): string => `runners.run.${escapeToken(node)}`;

type Question = { readonly from: string; readonly ids: readonly string[] };
type Answer = {
  readonly node: string;
  readonly ids: readonly string[];
  readonly running: string[];
};

/** One effect that may run elsewhere. */
type Asked = {
  readonly orphaned: (id: string) => void;
  /** nodes that have reported since the last positive answer that they do not run it */
  readonly denied: Set<string>;
  /** monotonic time at which the wait for silent nodes ends, ms */
  readonly until: number;
  /** monotonic time before which no conclusion is drawn */
  notBefore: number;
  runningAt: string | undefined;
};

export class RunningEffects {
  readonly #o: RunningEffectsOptions;
  readonly #asked = new Map<string, Asked>();
  readonly #unsubscribe: (() => void)[];
  #cancel: (() => void) | undefined;
  #lastCheckMs = 0;

  constructor(options: RunningEffectsOptions) {
    this.#o = options;
    const { bus, node, abort, run } = options;
    this.#unsubscribe = [
      bus.subscribe('runners.ask', ({ payload }) => this.#answer(payload as Question)),
      bus.subscribe(`runners.answer.${node}`, ({ payload }) => this.#onAnswer(payload as Answer)),
      bus.subscribe('runners.abort', ({ payload }) => abort(payload as string)),
      bus.subscribe(runSubject(node), ({ payload, respond }) => {
        const { id, intent } = payload as Handed;
        respond(run(id, intent));
      }),
    ];
  }

  /** Calls `orphaned` once for every id that no live node runs (any more). Returns stop. */
  adopt(ids: readonly string[], orphaned: (id: string) => void): () => void {
    const nowMs = this.#o.clock.monotonicMs();
    const until = nowMs + (this.#o.graceMs ?? GRACE_MS);
    const notBefore = nowMs + REPORTED_MS.atTakeOver;
    for (const id of ids)
      this.#asked.set(id, { orphaned, denied: new Set(), until, notBefore, runningAt: undefined });
    this.#ask(ids);
    this.#decide();
    return () => {
      for (const id of ids) if (this.#asked.get(id)?.orphaned === orphaned) this.#asked.delete(id);
    };
  }

  /** Asks a node to run an effect that this one owns and may not run. */
  async handTo(node: string, id: string, intent: Intent): Promise<HandedOver> {
    const handed: Handed = { id, intent };
    try {
      const options = { timeoutMs: HAND_OVER_MS };
      const taken = await this.#o.bus.request(runSubject(node), handed, options);
      return taken === true ? 'taken' : 'refused';
    } catch {
      return 'unsure';
    }
  }

  /** Notifies the node that runs the effect that its outcome is no longer needed. */
  abortElsewhere(id: string): void {
    if (this.#o.others().length > 0) this.#o.bus.publish('runners.abort', id);
  }

  close(): void {
    this.#cancel?.();
    this.#asked.clear();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
  }

  #answer({ from, ids }: Question): void {
    const { bus, node, isRunning } = this.#o;
    if (from === node) return;
    bus.publish(`runners.answer.${from}`, { node, ids, running: ids.filter(isRunning) });
  }

  #onAnswer({ node, ids, running }: Answer): void {
    const runs = new Set(running);
    const nowMs = this.#o.clock.monotonicMs();
    for (const id of ids) {
      const asked = this.#asked.get(id);
      if (!asked) continue;
      if (runs.has(id)) {
        asked.runningAt = node;
        asked.denied.clear();
      } else {
        if (asked.runningAt === node) {
          asked.runningAt = undefined;
          asked.notBefore = nowMs + REPORTED_MS.seenRunning;
        }
        asked.denied.add(node);
      }
    }
    this.#decide();
  }

  #ask(ids: readonly string[]): void {
    const { bus, node, others } = this.#o;
    if (others().length === 0) return;
    for (let at = 0; at < ids.length; at += IDS_PER_QUESTION)
      bus.publish('runners.ask', { from: node, ids: ids.slice(at, at + IDS_PER_QUESTION) });
  }

  /** Releases effects that run nowhere; asks again about the rest. */
  #decide(): void {
    const { clock, others, isRunning } = this.#o;
    const alive = new Set(others());
    const nowMs = clock.monotonicMs();
    for (const [id, asked] of this.#asked) {
      const { runningAt, denied, until, notBefore } = asked;
      if (isRunning(id) || nowMs < notBefore) continue;
      if (runningAt !== undefined && alive.has(runningAt)) continue;
      const silent = [...alive].some((other) => !denied.has(other));
      if (silent && nowMs < until) continue;
      this.#asked.delete(id);
      asked.orphaned(id);
    }
    if (this.#asked.size > 0) this.#cancel ??= clock.after(ASK_AGAIN_MS, () => this.#askAgain());
  }

  #askAgain(): void {
    this.#cancel = undefined;
    const nowMs = this.#o.clock.monotonicMs();
    const mayCheck = nowMs - this.#lastCheckMs >= CHECK_MS;
    if (mayCheck) this.#lastCheckMs = nowMs;
    const open: string[] = [];
    for (const [id, { runningAt }] of this.#asked)
      if (runningAt === undefined || mayCheck) open.push(id);
    this.#ask(open);
    this.#decide();
  }
}
