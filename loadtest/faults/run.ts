/**
 * A test of faults: load while processes of the cell are broken, one fault after the other, and the
 * account of every message afterwards.
 *
 * When a fault begins, each affected session receives a message at once, so that it has something
 * to answer. The time until its next answer is how long it did not answer. These messages are part
 * of the account, too.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { Random } from '../random.ts';
import { arrivals } from '../schedule.ts';
import { type Account, accountOf, type Collected, type Line, type ShownTask } from './account.ts';
import type { Cell } from './cell.ts';
import { Chronicle, type InjectedFault } from './chronicle.ts';
import type { Finding } from './document.ts';
import { type FaultKind, inject } from './injection.ts';
import { Owners } from './owners.ts';
import { People } from './people.ts';
import { Programs, type ProgramsOptions } from './tasks.ts';
import { untilDone } from './until-done.ts';

export type FaultPlan = {
  /** in a random order, each once before the first one again */
  readonly kinds: readonly FaultKind[];
  /** how many; default as many as begin within `durationMs` */
  readonly count?: number;
  readonly durationMs: number;
  /** from the begin of a fault to that of the next, unless the cell needs longer to recover */
  readonly everyMs: number;
  /** messages and envelopes per second */
  readonly ratePerSecond: number;
  /** share of envelopes, 0 to 1 */
  readonly envelopes: number;
  readonly sessions: number;
  readonly seed: number;
  /** what has no end at this time after the last fault is lost */
  readonly settleMs: number;
};

export type FaultTest = {
  readonly plan: FaultPlan;
  readonly cell: Cell;
  /** reconnects by itself */
  readonly client: GatewayClient;
  /** where envelopes are sent; absent: none are */
  readonly programs?: Omit<ProgramsOptions, 'prefix' | 'signal'>;
  /** part of all ids */
  readonly testId: string;
  /** processes that ended by themselves until now */
  readonly crashes: readonly string[];
  /** stops the test without an account */
  readonly signal: AbortSignal;
  readonly show: ShowFaults;
};

export type ShowFaults = {
  readonly phase: (text: string) => void;
  /** once a second */
  readonly glance: (now: { readonly sent: number; readonly ended: number }) => void;
  /** `number` begins with 1 */
  readonly begun: (number: number, what: string) => void;
  readonly recovered: (number: number, fault: InjectedFault, affected: number) => void;
};

export type FaultOutcome = Account & {
  readonly startedAt: string;
  readonly seconds: number;
  readonly faults: readonly InjectedFault[];
  readonly notes: readonly string[];
  /** what the account is made from */
  readonly collected: Collected;
};

const FIRST_MS_MAX = 60_000;
/** The next fault begins then, also when sessions have not answered. */
const RECOVERY_MS_MAX = 60_000;
/** Of one transcript, or one task. */
const READ_MS_MAX = 60_000;
const DAY_SECONDS = 86_400;

/**
 * @throws TroupeError UNAVAILABLE when the first messages have no answer; CANCELLED by `signal`
 */
export async function runFaults(test: FaultTest): Promise<FaultOutcome> {
  const [beganMs, startedAt] = [performance.now(), new Date().toISOString()];
  const stage = new Stage(test);
  try {
    await stage.first();
    await stage.breakAndLoad();
    await stage.settle();
    const collected = await stage.collect();
    const account = accountOf(collected);
    test.signal.throwIfAborted();
    const findings = [...account.findings, ...test.crashes.map(crashFinding)];
    const { faults, notes } = stage;
    const seconds = (performance.now() - beganMs) / 1_000;
    return { ...account, findings, startedAt, seconds, faults, notes, collected };
  } catch (error) {
    if (test.signal.aborted) throw new TroupeError('CANCELLED', 'stopped: there is no account');
    throw error;
  } finally {
    stage.close();
  }
}

const crashFinding = (text: string): Finding => ({
  kind: 'other',
  text: `a process ended by itself: ${text}`,
  ids: [],
  evidence: [],
});

class Stage {
  readonly notes: string[] = [];
  readonly #test: FaultTest;
  readonly #chronicle = new Chronicle();
  readonly #random: Random;
  /** ends all attempts */
  readonly #end = new AbortController();
  readonly #people: People;
  readonly #programs: Programs | undefined;
  readonly #sessions: readonly string[];
  readonly #timer: NodeJS.Timeout;
  /** those that this round has not had */
  readonly #kinds: FaultKind[] = [];
  #owners: Owners | undefined;

  constructor(test: FaultTest) {
    const { plan, client, testId, programs, show, signal } = test;
    this.#test = test;
    this.#random = new Random(plan.seed);
    this.#sessions = Array.from(
      { length: plan.sessions },
      (_, at) => `agent:main:faults-${testId}-${at + 1}`,
    );
    signal.addEventListener('abort', this.#stop, { once: true });
    const own = { prefix: `m-${testId}`, signal: this.#end.signal };
    this.#people = new People({ client, ...own });
    this.#programs = programs && new Programs({ ...programs, ...own });
    this.#timer = setInterval(() => show.glance(this.#counts()), 1_000);
  }

  get faults(): readonly InjectedFault[] {
    return this.#chronicle.faults;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#test.signal.removeEventListener('abort', this.#stop);
    this.#stop();
  }

  readonly #stop = (): void => this.#end.abort();

  #counts() {
    const [people, programs] = [this.#people, this.#programs];
    return {
      sent: people.sent.length + (programs?.sent.length ?? 0),
      ended: people.answered + (programs?.ended ?? 0),
    };
  }

  /** One message to each session, so that what does not work at all is reported at once. */
  async first(): Promise<void> {
    const { show, cell, client } = this.#test;
    show.phase('one message to each session, before the faults');
    const late = setTimeout(this.#stop, FIRST_MS_MAX);
    await Promise.all(this.#sessions.map((session) => this.#people.send(session)));
    await this.#programs?.send();
    clearTimeout(late);
    const silent = this.#people.sent.find(({ status }) => status !== 'ok');
    const failed = silent ?? this.#programs?.sent.find(({ state }) => state !== 'SUCCEEDED');
    if (failed !== undefined)
      throw new TroupeError(
        'UNAVAILABLE',
        `the first requests were not answered (${'error' in failed && failed.error !== undefined ? failed.error : (failed.lastError ?? 'no end')}), so nothing was broken`,
      );
    if (cell.form === 'cluster') this.#owners = await Owners.of(client, this.#sessions);
  }

  async breakAndLoad(): Promise<void> {
    const { plan, signal, show } = this.#test;
    const enough = new AbortController();
    const load = this.#load(AbortSignal.any([enough.signal, this.#end.signal]));
    const beganMs = performance.now();
    const isLast = (number: number) =>
      plan.count === undefined
        ? performance.now() - beganMs >= plan.durationMs
        : number > plan.count;
    show.phase('the load and the faults begin');
    await this.#pause(plan.everyMs);
    for (let number = 1; !isLast(number) && !this.#end.signal.aborted; number++) {
      const nextMs = performance.now() + plan.everyMs;
      await this.#break(number);
      await this.#pause(nextMs - performance.now());
    }
    enough.abort();
    await load;
    signal.throwIfAborted();
  }

  async #load(stop: AbortSignal): Promise<void> {
    const { ratePerSecond, envelopes, seed } = this.#test.plan;
    const random = new Random(seed + 1);
    const share = this.#programs ? envelopes : 0;
    const schedule = arrivals({
      ratePerSecond,
      seconds: DAY_SECONDS,
      arrival: 'poisson',
      mix: { messages: 1 - share, envelopes: share },
      seed,
    });
    const beganMs = performance.now();
    for (const { atMs, workload } of schedule) {
      const waitMs = beganMs + atMs - performance.now();
      if (waitMs > 0) await sleep(waitMs, undefined, { signal: stop }).catch(() => {});
      if (stop.aborted) return;
      if (workload === 'envelopes') void this.#programs?.send();
      else void this.#people.send(random.pick(this.#sessions));
    }
  }

  async #break(number: number): Promise<void> {
    const { cell, show } = this.#test;
    const owners = await this.#owners?.now();
    const { what, target, lastsMs, undo } = await inject(this.#nextKind(), cell, this.#random);
    const fault = this.#chronicle.begin(what);
    show.begun(number, what);
    const isWorker = cell.workers.includes(target);
    const affected = (isWorker && owners?.get(target)) || this.#sessions;
    const [beganMs, since] = [performance.now(), Date.now()];
    const answers = affected.map(async (session) => {
      void this.#people.send(session);
      await this.#people.nextAnswer(session, since);
      fault.recovered([Math.round(performance.now() - beganMs)]);
    });
    await this.#pause(lastsMs);
    await undo();
    fault.ended();
    await Promise.race([Promise.all(answers), this.#pause(RECOVERY_MS_MAX)]);
    // Stopped: that no session answered says nothing.
    if (this.#end.signal.aborted) return;
    const recorded = this.#chronicle.faults.at(-1)!;
    show.recovered(number, recorded, affected.length);
    const missing = affected.length - recorded.recoveriesMs.length;
    if (missing > 0)
      this.notes.push(
        `${missing} sessions had no answer ${RECOVERY_MS_MAX / 1_000} s after fault ${number}`,
      );
  }

  /** At random, and each kind once before the first one again. */
  #nextKind(): FaultKind {
    if (this.#kinds.length === 0) this.#kinds.push(...this.#test.plan.kinds);
    const at = Math.floor(this.#random.next() * this.#kinds.length);
    return this.#kinds.splice(at, 1)[0]!;
  }

  /** Rejects never: the caller looks at the signal. */
  async #pause(ms: number): Promise<void> {
    if (ms > 0) await sleep(ms, undefined, { signal: this.#end.signal }).catch(() => {});
  }

  /** Every process runs, and everything that was sent ends, or the time to settle is over. */
  async settle(): Promise<void> {
    const { cell, plan, show, signal } = this.#test;
    show.phase('the faults have ended; everything that was sent comes to its end');
    await cell.startAll();
    await cell.ready(signal);
    const late = setTimeout(this.#stop, plan.settleMs);
    await this.#people.settled();
    await this.#programs?.settled();
    clearTimeout(late);
  }

  /** @throws TroupeError UNAVAILABLE when the gateway does not show what is stored */
  async collect(): Promise<Collected> {
    const { show, signal } = this.#test;
    show.phase('the account is made from what the gateway shows');
    const transcripts = new Map<string, readonly Line[]>();
    for (const session of this.#sessions)
      await read(`the transcript of ${session}`, signal, async () =>
        transcripts.set(session, await this.#people.transcript(session)),
      );
    const shownTasks = new Map<string, ShownTask>();
    const tasks = this.#programs?.sent ?? [];
    for (const id of tasks.flatMap(({ ids }) => ids))
      await read(`the task ${id}`, signal, async () => {
        const shown = await this.#programs!.shown(id);
        if (shown) shownTasks.set(id, shown);
      });
    return { messages: this.#people.sent, transcripts, tasks, shownTasks };
  }
}

async function read(
  what: string,
  signal: AbortSignal,
  attempt: () => Promise<unknown>,
): Promise<void> {
  let why = '';
  const isRead = await untilDone(
    () => attempt().then(() => true),
    AbortSignal.any([signal, AbortSignal.timeout(READ_MS_MAX)]),
    (error) => (why = (error as Error).message),
  );
  if (!isRead) throw new TroupeError('UNAVAILABLE', `${what} cannot be read: ${why}`);
}
