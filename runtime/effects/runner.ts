/**
 * EffectRunner: runs the effects that committed intents request (rule G), and reports their
 * outcomes until they are stored (G6). Several run at once; past the limit
 * they wait, and tenants take turns by weight. An effect with `takesSlot: false` never waits.
 *
 * Boundary: it knows nothing about the state of shards. Effect classes handle an effect that runs
 * twice (two owners, a restart): `repeatable` and `keyed` allow it; a `once` effect was Started by
 * one owner only (G3).
 */
import { type Address, parseAddress } from '../../protocols/address.ts';
import { encode } from '../../protocols/codec.ts';
import { type ErrorData, TroupeError, errorData } from '../../protocols/errors.ts';
import type { Message } from '../../protocols/statechart.ts';
import type { EffectContext, EffectDefinition } from '../actor/effect.ts';
import type { Registry } from '../actor/registry.ts';
import type { Clock } from '../clock/clock.ts';
import { type TenantWeights, weightsOf } from '../fairness/fair-queue.ts';
import { checkValue, storableError } from '../shard/turn/validate-message.ts';
import type { Intent } from '../shard/turn/intents.ts';
import type { Outcome } from '../shard/commit/records.ts';
import { bytesMaxOf, UNFIT, unfitValue } from '../statechart/values.ts';
import type { Index, Transcripts } from '../system.ts';
import { effectSpan, inSpan, parentOf } from '../observe/spans.ts';
import { WorkspacesOfEffect } from '../workspaces/of-effect.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';
import { type Slot, Slots } from './slots.ts';

export type EffectRunnerOptions = {
  readonly registry: Registry;
  readonly clock: Clock;
  readonly cell: string;
  /** resolves when every row can be read in this process, those of one actor as they are now */
  readonly index: (asNewAs?: Address) => Promise<Index>;
  /** as `EffectContext.row` */
  readonly row: EffectContext['row'];
  readonly transcripts: Transcripts;
  /** as `EffectContext.past` */
  readonly past: EffectContext['past'];
  readonly publish: (topic: string, event: Message) => void;
  /** what the log's clock shows, for effects of this actor; default this process's wall clock */
  readonly now?: (actor: Address) => number;
  /** stores the outcome as an input of the actor; rejects when it is not known to be stored */
  readonly report: (
    actor: Address,
    intent: string,
    attempt: number,
    outcome: Outcome,
    cls: Intent['cls'],
  ) => Promise<void>;
  readonly services: unknown;
  /** absent: opening a workspace fails with UNAVAILABLE */
  readonly workspaces?: Workspaces | undefined;
  readonly alarm: (what: string) => void;
  /** effects running at once; default 2,048 */
  readonly runningMax?: number;
  /** of one tenant, at least 1; beyond it they wait while others run; default no limit */
  readonly tenantRunningMax?: number | (() => number) | undefined;
  /** shares of tenants against each other while effects wait; default 1 each */
  readonly tenantWeights?: TenantWeights | undefined;
};

/** An outcome larger than this is a failure. */
export const OUTCOME_BYTES_MAX = 4 * 2 ** 20;
const FINISHED_POLL_MS = 20;
const REPORT_BACKOFF_MS = { first: 50, max: 5_000 };

type Running = {
  readonly abort: AbortController;
  readonly attempt: number;
  /** absent while only its outcome is being determined, and for an effect that takes none */
  slot?: Slot;
};

export class EffectRunner {
  readonly #o: EffectRunnerOptions;
  readonly #running = new Map<string, Running>();
  readonly #slots: Slots;
  #stopped = false;

  constructor(options: EffectRunnerOptions) {
    this.#o = options;
    this.#slots = new Slots({
      max: options.runningMax ?? 2_048,
      tenantMax: options.tenantRunningMax,
      weightOf: weightsOf(options.tenantWeights),
    });
  }

  get running(): number {
    return this.#running.size;
  }

  isRunning(id: string): boolean {
    return this.#running.has(id);
  }

  /** Resolves when nothing runs any more and every outcome is stored, or after a timeout. */
  async finished(withinMs: number): Promise<void> {
    const { clock } = this.#o;
    const until = clock.monotonicMs() + withinMs;
    while (this.#running.size > 0 && clock.monotonicMs() < until)
      await new Promise<void>((resolve) => clock.after(FINISHED_POLL_MS, resolve));
  }

  /** Runs the effect unless this attempt of it runs already. */
  run(id: string, intent: Intent): void {
    const before = this.#running.get(id);
    if (this.#stopped || before?.attempt === intent.attempt) return;
    if (before) this.#unqueue(before);
    const running: Running = { abort: new AbortController(), attempt: intent.attempt };
    this.#running.set(id, running);
    if (this.#effectOf(intent)?.takesSlot === false) return void this.#perform(id, intent, running);
    const { actor } = intent;
    const tenant = actor.slice(0, actor.indexOf('/'));
    running.slot = this.#slots.take(tenant, actor, (slot) => {
      void this.#perform(id, intent, running).finally(() => this.#slots.leave(slot));
    });
  }

  /**
   * Asks the effect for the outcome of an attempt whose result was lost (G5). An attempt that still
   * runs here is not lost: only its owner was replaced, and it reports to the next one.
   */
  reconcile(id: string, intent: Intent): void {
    if (this.#running.get(id)?.attempt === intent.attempt) return;
    const effect = this.#effectOf(intent);
    if (!effect?.reconcile)
      return this.#o.alarm(
        `${intent.actor}: the outcome of '${intent.src}' is unknown (${id}); an operator must decide`,
      );
    const running = { abort: new AbortController(), attempt: intent.attempt };
    this.#running.set(id, running);
    const ask = async (): Promise<Outcome | undefined> => {
      const workspaces = new WorkspacesOfEffect(this.#o.workspaces, running.abort.signal);
      const answer = await effect.reconcile!(
        intent.input,
        this.#contextOf(id, intent, running.abort.signal, workspaces),
      ).finally(() => this.#abandon(intent, workspaces));
      if (answer === 'ask') return undefined;
      if (answer === 'again') return { kind: 'again' };
      checkValue(answer.outcome, `the outcome of '${intent.src}'`);
      return { kind: 'done', output: answer.outcome };
    };
    ask().then(
      (outcome) =>
        outcome ? this.#report(id, intent, running, outcome) : this.#forget(id, running),
      (error: unknown) => {
        this.#forget(id, running);
        this.#o.alarm(
          `${intent.actor}: reconciling '${intent.src}' failed: ${errorData(error).message}`,
        );
      },
    );
  }

  /** The outcome is no longer wanted. */
  abort(id: string): void {
    const running = this.#running.get(id);
    if (!running) return;
    running.abort.abort(new TroupeError('CANCELLED', 'the outcome is no longer wanted'));
    this.#unqueue(running);
    this.#running.delete(id);
  }

  /** Aborts everything and reports nothing more: the next owner continues from the intents. */
  stop(): void {
    this.#stopped = true;
    for (const { abort } of this.#running.values())
      abort.abort(
        new TroupeError('CANCELLED', 'the worker stops', { details: { reason: 'WORKER_STOPS' } }),
      );
    this.#running.clear();
    this.#slots.close();
  }

  async #perform(id: string, intent: Intent, running: Running): Promise<void> {
    if (running.abort.signal.aborted) return;
    const outcome = await this.#outcomeOf(id, intent, running);
    await this.#report(id, intent, running, outcome);
  }

  async #outcomeOf(id: string, intent: Intent, running: Running): Promise<Outcome> {
    const effect = this.#effectOf(intent);
    if (!effect)
      return failed({
        code: 'NOT_FOUND',
        message: `${intent.machine} has no effect '${intent.src}' on this worker`,
      });
    const { signal } = running.abort;
    const workspaces = new WorkspacesOfEffect(this.#o.workspaces, signal);
    const timeoutMs = effect.timeoutMs ?? 600_000;
    const cancel = this.#o.clock.after(timeoutMs, () =>
      running.abort.abort(
        new TroupeError('DEADLINE_EXCEEDED', `'${intent.src}' took longer than ${timeoutMs} ms`),
      ),
    );
    try {
      const context = this.#contextOf(id, intent, signal, workspaces);
      const { actor, src, attempt } = intent;
      const output = await inSpan(
        () => effectSpan({ actor, src, attempt, id: context.id }),
        () => orAborted(effect.run(intent.input, context), signal),
        () => parentOf(intent.traceId),
      );
      const problem = problemOf(output, `the result of '${intent.src}'`);
      if (problem) return failed(problem);
      signal.throwIfAborted();
      if (!workspaces.endUnused()) {
        const end = effect.workspace === 'discard' ? workspaces.close() : workspaces.save();
        await orAborted(end, signal);
      }
      return { kind: 'done', output };
    } catch (error) {
      return failed(errorData(error));
    } finally {
      cancel();
      if (!workspaces.endUnused()) this.#abandon(intent, workspaces);
    }
  }

  /**
   * Not awaited: work that ignores its signal may keep a workspace open, and the outcome is
   * decided.
   */
  #abandon(intent: Intent, workspaces: WorkspacesOfEffect): void {
    workspaces.abandon().catch((error: unknown) => {
      this.#o.alarm(
        `${intent.actor}: a workspace of '${intent.src}' was not closed: ${errorData(error).message}`,
      );
    });
  }

  async #report(id: string, intent: Intent, running: Running, outcome: Outcome): Promise<void> {
    const { clock, report } = this.#o;
    for (
      let backoffMs = REPORT_BACKOFF_MS.first;
      ;
      backoffMs = Math.min(backoffMs * 2, REPORT_BACKOFF_MS.max)
    ) {
      if (this.#stopped || this.#running.get(id) !== running) return;
      try {
        await report(intent.actor, id, intent.attempt, outcome, intent.cls);
        return this.#forget(id, running);
      } catch {
        await new Promise<void>((resolve) => clock.after(backoffMs, resolve));
      }
    }
  }

  /** Removes effects from the queue that have not started; running ones are not affected. */
  #unqueue({ slot }: Running): void {
    if (slot) this.#slots.withdraw(slot);
  }

  #forget(id: string, running: Running): void {
    if (this.#running.get(id) === running) this.#running.delete(id);
  }

  #effectOf({ machine, actor, src }: Intent): EffectDefinition | undefined {
    const { registry } = this.#o;
    return (registry.exact(machine) ?? registry.latest(parseAddress(actor).type))?.effects[src];
  }

  #contextOf(
    id: string,
    intent: Intent,
    signal: AbortSignal,
    workspaces: WorkspacesOfEffect,
  ): EffectContext {
    const { clock, index, row, past, transcripts, publish, services, cell, now } = this.#o;
    return {
      id: `${cell.slice(0, 8)}:${id}`,
      attempt: intent.attempt,
      actor: intent.actor,
      ...(intent.traceId ? { traceId: intent.traceId } : {}),
      signal,
      publish: (topic, event) => (signal.aborted ? undefined : publish(topic, event)),
      now: () => now?.(intent.actor) ?? clock.wallMs(),
      services,
      transcript: (actor = intent.actor) => ({
        read: (options) => transcripts.read(actor, options),
        last: () => transcripts.last(actor),
      }),
      index,
      row,
      past,
      workspace: (actor = intent.actor) => workspaces.open(actor),
      peek: async (...about) => this.#o.workspaces?.peek(...about),
    };
  }
}

/** Why an outcome cannot be stored. It is encoded only where it may be too large. */
function problemOf(output: unknown, what: string): ErrorData | undefined {
  const bytesMax = bytesMaxOf(output);
  if (bytesMax === UNFIT)
    return { code: 'INTERNAL', message: `${unfitValue(output, what)}, which cannot be stored` };
  const bytes = bytesMax > OUTCOME_BYTES_MAX ? encode(output).length : bytesMax;
  if (bytes <= OUTCOME_BYTES_MAX) return undefined;
  const message = `${what} has ${bytes} bytes, ${OUTCOME_BYTES_MAX} are allowed`;
  return { code: 'PAYLOAD_TOO_LARGE', message };
}

const failed = (error: ErrorData): Outcome => ({ kind: 'failed', error: storableError(error) });

/**
 * The work's result, or the reason of an abort as soon as it happens, even if the work ignores the
 * signal.
 */
function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
