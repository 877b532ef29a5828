/**
 * Workload: seeded requests of clients to actors. A client sends one request after the other, and
 * repeats each with its key until it is known to be accepted (F1, F2).
 */
import { address, type Address } from '../../protocols/address.ts';
import { ERRORS } from '../../protocols/errors.ts';
import type { AskAnswer, SendOptions, System, TellAnswer } from '../../runtime/system.ts';
import { type Command, type Onward, SIM_TYPES } from './actors.ts';
import type { Auditor, Request } from './auditor.ts';
import type { Random } from '../../library/simulation/random.ts';
import type { VirtualClock } from '../../library/simulation/virtual-clock.ts';

export const BOSS = address('t', 'boss', 'b');
const DEPTH_MAX = 3;
const ASK_MS = 1_500;
/** A client that receives no response, not even a refusal, considers the entry point dead. */
const PATIENCE_MS = 5_000;

export type WorkloadOptions = {
  /** actors of each type */
  readonly keys: number;
  readonly clients: number;
  readonly requestsPerClient: number;
  /** whether some messages kill the process that runs them */
  readonly killers: boolean;
  /** default one, `t` */
  readonly tenants?: readonly string[];
};

export class Workload {
  readonly #random: Random;
  readonly #o: WorkloadOptions;
  readonly actors: readonly Address[];

  constructor(random: Random, options: WorkloadOptions) {
    this.#random = random;
    this.#o = options;
    const keys = Array.from({ length: options.keys }, (_, i) => `k${i}`);
    const tenants = options.tenants ?? ['t'];
    this.actors = tenants.flatMap((tenant) =>
      SIM_TYPES.flatMap((type) => keys.map((key) => address(tenant, type, key))),
    );
  }

  command(depth = 0): Command {
    const r = this.#random;
    const type = r.pick(KINDS);
    const command: { -readonly [K in keyof Command]: Command[K] } = { type };
    const tells = depth < DEPTH_MAX && r.chance(0.5) ? r.whole(1, 3) : 0;
    const target = r.chance(0.4) ? r.pick(this.actors) : undefined;
    if (tells > 0)
      command.tells = Array.from({ length: tells }, () => this.#onward(depth + 1, target));
    if (type === 'arm' || type === 'do') command.ms = r.pick([0, 1, 20, 200, 1_500]);
    if (type === 'do') command.cls = r.pick(['repeatable', 'keyed', 'once']);
    if (type === 'do' && r.chance(0.2)) command.fails = true;
    if (r.chance(0.03)) command.throws = true;
    if (this.#o.killers && r.chance(0.01)) command.kills = true;
    if (r.chance(0.3)) command.answer = r.pick(['later', 'never']);
    if (r.chance(0.2)) command.publishes = true;
    if (r.chance(0.1)) command.appends = r.whole(1, 3);
    return command;
  }

  #onward(depth: number, target?: Address): Onward {
    const r = this.#random;
    return {
      to: target ?? r.pick(this.actors),
      event: this.command(depth),
      ...(r.chance(0.15) ? { lane: 'control' as const } : {}),
      ...(r.chance(0.05) ? { ttlMs: r.whole(0, 50) } : {}),
      ...(r.chance(0.2) ? { ask: true } : {}),
      ...(r.chance(0.1) ? { supervise: true } : {}),
    };
  }
}

const KINDS: readonly Command['type'][] = [
  ...Array<'hard'>(20).fill('hard'),
  ...Array<'soft'>(16).fill('soft'),
  ...Array<'arm'>(8).fill('arm'),
  ...Array<'do'>(10).fill('do'),
  ...Array<'cancel'>(5).fill('cancel'),
  'finish',
];

export type ClientOptions = {
  readonly name: string;
  readonly random: Random;
  readonly clock: Pick<VirtualClock, 'monotonicMs' | 'sleep'>;
  readonly workload: Workload;
  readonly auditor: Auditor;
  /** a worker that seems to be running */
  readonly worker: () => { readonly entryPoint: Pick<System, 'ask' | 'tell'> } | undefined;
  readonly requests: number;
  /**
   * after this time the client sends no new requests and only repeats those without a final answer
   */
  readonly untilMs: number;
  /** longest pause between two requests; default 2,500 */
  readonly pauseMsMax?: number;
};

type Answer = TellAnswer | AskAnswer | { readonly kind: 'silent' };

/**
 * Sends its requests one after the other; resolves when each has a final answer, where one is
 * possible.
 */
export async function runClient(o: ClientOptions): Promise<void> {
  const { random: r, clock } = o;
  const favourite = r.pick(o.workload.actors);
  for (let seq = 1; seq <= o.requests && clock.monotonicMs() < o.untilMs; seq++) {
    await clock.sleep(r.chance(0.5) ? 0 : r.whole(0, o.pauseMsMax ?? 2_500));
    const uid = `${o.name}-${seq}`;
    const to = r.chance(0.5) ? favourite : r.pick(o.workload.actors);
    const event = { ...o.workload.command(), uid };
    const keyed = r.chance(0.85);
    const lane = r.chance(0.1) ? ('control' as const) : ('data' as const);
    const options: SendOptions = {
      principal: { sub: o.name, roles: [] },
      lane,
      ...(keyed ? { key: `${o.name}/${seq}` } : {}),
      ...(r.chance(0.05) ? { ttlMs: r.whole(0, 100) } : {}),
    };
    const request: Request = { uid, client: o.name, seq, to, keyed, outcome: 'pending' };
    o.auditor.request(request);
    await send(o, request, event, options);
    if (keyed && r.chance(0.2)) await misuse(o, request, event, options);
  }
}

async function send(
  o: ClientOptions,
  request: Request,
  event: Command,
  options: SendOptions,
): Promise<void> {
  const { random: r, clock } = o;
  let asks = r.chance(0.6) ? r.whole(1, 3) : 0;
  let unsure = false;
  for (;;) {
    const worker = o.worker();
    if (!worker) {
      await clock.sleep(100);
      continue;
    }
    const ask = asks-- > 0;
    const sent = ask
      ? worker.entryPoint.ask(request.to, event, { ...options, timeoutMs: ASK_MS })
      : worker.entryPoint.tell(request.to, event, options);
    const answer: Answer = await Promise.race([
      sent,
      clock.sleep(PATIENCE_MS).then(() => ({ kind: 'silent' as const })),
    ]);
    if (answer.kind === 'accepted' || answer.kind === 'answered') {
      request.outcome = answer.kind;
      return;
    }
    if (answer.kind === 'refused' && !isUnsure(answer.error)) {
      if (!ERRORS[answer.error.code].retriable || !r.chance(0.7)) {
        request.outcome = unsure ? 'unsure' : 'refused';
        return;
      }
    } else if (!request.keyed) {
      request.outcome = 'unsure';
      return;
    } else unsure = true;
    await clock.sleep(r.whole(10, 300));
  }
}

const isUnsure = (error: { details?: Record<string, unknown> }): boolean =>
  error.details?.['outcome'] === 'unknown';

/** The same key for another message: refused, or first if the other copy is late. */
async function misuse(
  o: ClientOptions,
  first: Request,
  event: Command,
  options: SendOptions,
): Promise<void> {
  const uid = `${first.uid}x`;
  const request: Request = { ...first, uid, client: `${first.client}x`, outcome: 'pending' };
  o.auditor.request(request);
  await send(o, request, { ...event, uid }, options);
}
