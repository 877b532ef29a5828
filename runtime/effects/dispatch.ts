/**
 * Dispatch: selects where an effect runs. Most run in the process that owns their shard. An effect
 * that requires labels which this process does not have is sent to a worker with them, while its
 * shard stays; the outcome returns through the mailbox like any other.
 *
 * Invariants: an effect never starts on a worker without the required labels. While there is no
 * such worker it waits without having started; after WAIT_MS its outcome is UNAVAILABLE.
 */
import { parseAddress } from '../../protocols/address.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { LOCALITY_LABEL } from '../../protocols/locality.ts';
import type { Registry } from '../actor/registry.ts';
import type { Clock } from '../clock/clock.ts';
import { type Labels, labelsText, meets } from '../labels.ts';
import type { Intent } from '../shard/turn/intents.ts';
import type { Outcome } from '../shard/commit/records.ts';
import type { Workspaces } from '../workspaces/workspaces.ts';

/** An effect that this process may not run. */
export type RemoteDispatch = {
  /** resolves when a suitable worker exists; undefined: one exists now */
  readonly ready: Promise<void> | undefined;
  /** Resolves when a worker may have started it, or when it was returned as not started. */
  run(): Promise<void>;
};

/** The worker's answer; `unsure`: it did not answer and may have started the effect. */
export type HandedOver = 'taken' | 'refused' | 'unsure';

export type DispatchOptions = {
  readonly registry: Registry;
  readonly clock: Clock;
  /** of this process */
  readonly labels: Labels;
  /** another process with the labels may join */
  readonly clustered: boolean;
  readonly workspaces?: Pick<Workspaces, 'labelsOf'> | undefined;
  /** the worker with these labels that runs the effects of this intent's shard */
  readonly workerWith: (labels: Labels, intent: Intent) => string | undefined;
  readonly handTo: (node: string, id: string, intent: Intent) => Promise<HandedOver>;
  readonly report: (id: string, intent: Intent, outcome: Outcome) => Promise<void>;
  readonly alarm: (what: string) => void;
};

const WAIT_MS = 600_000;
const LOOK_MS = 250;
const HAND_OVERS_TRIED = 3;

type Waiting = {
  readonly intent: Intent;
  readonly labels: Labels;
  readonly untilMs: number;
  readonly resolve: () => void;
};

export class Dispatch {
  readonly #o: DispatchOptions;
  readonly #waiting = new Map<string, Waiting>();
  #cancelLook: (() => void) | undefined;
  #closed = false;

  constructor(options: DispatchOptions) {
    this.#o = options;
  }

  /** undefined: this process may run it. */
  elsewhere(id: string, intent: Intent): RemoteDispatch | undefined {
    const required = this.required(intent);
    if (meets(this.#o.labels, required)) return undefined;
    const isThere = this.#o.workerWith(required, intent) !== undefined;
    return {
      ready: isThere ? undefined : this.#wait(id, intent, required),
      run: () => this.#handOver(id, intent, required),
    };
  }

  /** What a worker must have to run it. */
  required({ machine, actor, src, input }: Intent): Labels {
    const { registry, workspaces } = this.#o;
    const definition = registry.exact(machine) ?? registry.latest(parseAddress(actor).type);
    const placement = definition?.effects[src]?.placement?.(input);
    const { workspacesOf = [], locality } = placement ?? {};
    return {
      ...Object.assign({}, ...workspacesOf.map((of) => workspaces?.labelsOf?.(of))),
      ...(locality && { [LOCALITY_LABEL]: locality }),
    };
  }

  /** Whether this process may run what another one hands to it. */
  mayRun(intent: Intent): boolean {
    return !this.#closed && meets(this.#o.labels, this.required(intent));
  }

  /** The outcome is no longer wanted. */
  abort(id: string): void {
    this.#waiting.delete(id);
  }

  close(): void {
    this.#closed = true;
    this.#cancelLook?.();
    this.#waiting.clear();
  }

  #wait(id: string, intent: Intent, labels: Labels): Promise<void> {
    const { clock, clustered } = this.#o;
    const untilMs = clock.monotonicMs() + (clustered ? WAIT_MS : 0);
    if (clustered && !this.#waiting.has(id)) this.#o.alarm(`${unmet(intent, labels)}; it waits`);
    return new Promise((resolve) => {
      this.#waiting.set(id, { intent, labels, untilMs, resolve });
      this.#lookSoon();
    });
  }

  #lookSoon(): void {
    if (this.#closed || this.#waiting.size === 0) return;
    this.#cancelLook ??= this.#o.clock.after(LOOK_MS, () => {
      this.#cancelLook = undefined;
      this.#look();
      this.#lookSoon();
    });
  }

  #look(): void {
    const nowMs = this.#o.clock.monotonicMs();
    for (const [id, { intent, labels, untilMs, resolve }] of this.#waiting) {
      const isThere = this.#o.workerWith(labels, intent) !== undefined;
      if (!isThere && nowMs < untilMs) continue;
      this.#waiting.delete(id);
      if (isThere) resolve();
      else void this.#giveUp(id, intent, labels);
    }
  }

  async #giveUp(id: string, intent: Intent, labels: Labels): Promise<void> {
    const error = new TroupeError('UNAVAILABLE', unmet(intent, labels), {
      details: { labels: labelsText(labels) },
    }).toData();
    await this.#reported(id, intent, { kind: 'failed', error });
  }

  async #handOver(id: string, intent: Intent, labels: Labels): Promise<void> {
    const { workerWith, handTo, alarm } = this.#o;
    for (let tried = 0; tried < HAND_OVERS_TRIED; tried++) {
      const node = workerWith(labels, intent);
      if (node === undefined) break;
      if ((await handTo(node, id, intent)) !== 'refused') return;
    }
    if (intent.state === 'unknown')
      return alarm(`${unmet(intent, labels)}, which could determine its outcome (${id})`);
    await this.#reported(id, intent, { kind: 'notStarted' });
  }

  /** If the report fails, the owner of the shard finds the effect open and starts it again. */
  async #reported(id: string, intent: Intent, outcome: Outcome): Promise<void> {
    if (this.#closed) return;
    await this.#o.report(id, intent, outcome).catch((error: unknown) => {
      this.#o.alarm(
        `${intent.actor}: '${intent.src}' could not be reported as not started: ${String(error)}`,
      );
    });
  }
}

const unmet = ({ actor, src }: Intent, labels: Labels): string =>
  `${actor}: '${src}' requires a worker with the labels ${labelsText(labels)}, and there is none`;
