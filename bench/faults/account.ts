/**
 * The auditor of the simulation, for a cell of real processes. When the cell is idle again, it
 * reads mailboxes, journals, transcripts and dead letters from their beginning. It also receives
 * the results of the clients, the events at the gateway and the started effects. It reports
 * everything that is lost, duplicated or different.
 */
import { isDeepStrictEqual } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Address } from '../../protocols/address.ts';
import type { Message } from '../../protocols/statechart.ts';
import type { Bus } from '../../runtime/bus/bus.ts';
import type { Log } from '../../runtime/log/log.ts';
import type { AskAnswer } from '../../runtime/index.ts';
import { decodeActorRow } from '../../runtime/shard/turn/actor-row.ts';
import { TABLE } from '../../runtime/shard/commit/fold.ts';
import { Auditor, type Request, type Seen, tallyOf } from '../../test/sim/auditor.ts';
import {
  actorFaults,
  closingFaults,
  stateFaults,
  suspended,
  undecided,
  unrest,
} from '../../test/sim/closing.ts';
import type { FaultCell } from './cell.ts';
import { effectsOf } from './effects.ts';
import { type CountRow, headOf, Places, type Row, rowsOf } from './evidence.ts';
import type { Probes } from './load.ts';
import { Tape } from './tape.ts';
import { ENV } from './worker.ts';

/** The events that the gateway received from the cell, in order. */
export class Arrivals {
  readonly #answers: Seen[] = [];
  readonly #events: Message[] = [];

  /** A bus whose deliveries are recorded. */
  readonly around = (bus: Bus): Bus => ({
    get connected() {
      return bus.connected;
    },
    publish: (subject, payload) => bus.publish(subject, payload),
    request: (subject, payload, options) => bus.request(subject, payload, options),
    close: () => bus.close(),
    subscribe: (pattern, onMessage) =>
      bus.subscribe(pattern, (message) => {
        if (pattern.startsWith('inbox.')) this.#answers.push(message.payload as Seen);
        onMessage(message);
      }),
  });

  /** Records what actors publish from now on. */
  watch({ gateway }: FaultCell): void {
    gateway.bus.subscribe('sim', ({ payload }) => void this.#events.push(payload as Message));
  }

  /** @param auditor after it has processed every journal */
  tell(auditor: Auditor): void {
    for (const answer of this.#answers) auditor.sawResponse(answer);
    for (const event of this.#events) auditor.sawEvent('sim', event);
  }
}

export type Account = {
  /** messages with a committed turn, of clients and of actors */
  readonly messages: number;
  readonly requests: number;
  /** effects whose unknown outcome only an operator can resolve */
  readonly unknown: number;
  readonly lost: readonly string[];
  readonly doubled: readonly string[];
  readonly other: readonly string[];
  /** what all of this was counted from */
  readonly rows: readonly Row[];
  /** messages that a finding names by their place, by `shard input` */
  readonly idAt: (shard: number, input: string) => string | undefined;
};

/** An auditor that records when each request was sent first. */
export class TimedAuditor extends Auditor {
  readonly sentAt = new Map<string, string>();

  override request(request: Request): void {
    this.sentAt.set(request.uid, new Date().toISOString());
    super.request(request);
  }
}

export type AccountOptions = {
  /** of the scenario */
  readonly folder: string;
  /** all actors that may exist */
  readonly actors: readonly string[];
  /** default the cell's; a test reads it through another one that changes entries */
  readonly log?: Log;
  /** how long to wait until nothing changes; default two minutes */
  readonly restMs?: number;
};

const REST_MS = 120_000;
const LOOK_MS = 150;
/** A state that is the same in this number of observations is stable. */
const LOOKS_STILL = 10;

/**
 * Waits until nothing changes, makes the decisions of an operator meanwhile, and audits everything.
 * Call it after every client has ended and every fault is over.
 */
export async function account(
  cell: FaultCell,
  auditor: TimedAuditor,
  arrivals: Arrivals,
  { folder, actors, log = cell.ports.store.log, restMs }: AccountOptions,
): Promise<Account> {
  const { ledger, requests, sentAt } = auditor;
  const places = new Places();
  const tape = new Tape({ log, env: ENV, ledger, actors, onPlayed: places.played });
  const person = new Person(cell, auditor);
  const faults = ledger.faults;
  await rest(auditor, () => tape.play(), person, restMs).catch(
    (error: Error) => void faults.push(error.message),
  );
  faults.push(...tape.left());
  const effects = effectsOf(folder);
  for (const { intent, attempt, cls } of effects) auditor.sawStart(intent, attempt, cls);
  arrivals.tell(auditor);
  faults.push(...closingFaults(auditor));
  const { state } = cell.ports.store;
  for (const { shard } of ledger.shards) faults.push(...stateFaults(ledger, shard, state));
  return {
    ...sorted(faults),
    messages: ledger.turns,
    requests: requests.size,
    ...person.figures,
    rows: rowsOf({ auditor, places, sentAt, effects }),
    idAt: (shard, input) => places.idAt(shard, input),
  };
}

/**
 * Audits by rows alone, where journals are trimmed: no work is open, the probes counted their
 * requests, and a repeated ask receives the first reply.
 */
export async function accountOfRows(
  cell: FaultCell,
  auditor: TimedAuditor,
  probes: Probes,
): Promise<Account> {
  const { ledger, requests } = auditor;
  const { faults } = ledger;
  const person = new Person(cell, auditor);
  const { state } = cell.ports.store;
  const look = async () => {
    ledger.turns = 0;
    for (const { shard, rows } of ledger.shards) {
      rows.clear();
      for (const { table, key, value } of state.dump(shard))
        ledger.putRow(shard, table, key, value);
      ledger.turns += cell.gateway.status().find((one) => one.shard === shard)?.turnNo ?? 0;
    }
  };
  await rest(auditor, look, person).catch((error: Error) => void faults.push(error.message));
  for (const { shard } of ledger.shards) {
    faults.push(...actorFaults(auditor, shard), ...countFaults(countOf(auditor, probes, shard)));
  }
  const again = [...probes.answers].filter(([, { answer }]) => answer.kind === 'answered');
  for (const [uid, { shard, answer }] of again.slice(-REPEATED)) {
    const repeated = await probes.askAgain(shard, uid);
    if (!isDeepStrictEqual(repeated, answer))
      faults.push(`${uid} was answered differently: ${JSON.stringify([answer, repeated])}`);
  }
  const heads = [...requests.values()].map((one) => headOf(auditor, one));
  return {
    ...sorted(faults),
    messages: ledger.turns,
    requests: requests.size,
    ...person.figures,
    rows: [
      ...heads.map((head) => ({ ...head, copies: 'trimmed' as const })),
      ...ledger.shards.map(({ shard }) => countOf(auditor, probes, shard)),
    ],
    idAt: () => undefined,
  };
}

const REPEATED = 200;

/** What the probe of a shard must have counted, and what it counted. */
function countOf({ ledger }: Auditor, probes: Probes, shard: number): CountRow {
  const asked = [...probes.answers.values()].filter((one) => one.shard === shard);
  const of = (kind: AskAnswer['kind']) => asked.filter(({ answer }) => answer.kind === kind);
  const unsure = of('refused').filter(
    ({ answer }) => answer.kind === 'refused' && answer.error.details?.['outcome'] === 'unknown',
  ).length;
  const accepted = of('answered').length + of('timeout').length;
  const actor = probes.addressIn(shard);
  const bytes = ledger.row(shard, TABLE.actor, actor);
  const counted = bytes ? tallyOf(decodeActorRow(bytes))!.n : 0;
  return { kind: 'count', actor, accepted, unsure, counted };
}

/** A probe counts each accepted ask once. An ask with an unknown append may be counted or not. */
function* countFaults({ actor, accepted, unsure, counted }: CountRow): Generator<string> {
  if (counted < accepted) yield `of ${accepted} asks to ${actor} ${accepted - counted} is lost`;
  if (counted > accepted + unsure)
    yield `of ${accepted} asks to ${actor} some have two turns: ${counted} were counted`;
}

function sorted(faults: readonly string[]): Pick<Account, 'lost' | 'doubled' | 'other'> {
  return {
    lost: faults.filter(isLoss),
    doubled: faults.filter(isDouble),
    other: faults.filter((fault) => !isLoss(fault) && !isDouble(fault)),
  };
}

const isLoss = (fault: string) => /is lost|has no turn|has 0 ends|is settled to/.test(fault);
const isDouble = (fault: string) =>
  /lasting ends|ha(?:s|ve) two turns|has [2-9] ends|effect .* began \d+ times/.test(fault);

async function rest(
  auditor: Auditor,
  look: () => Promise<void>,
  person: Person,
  restMs = REST_MS,
): Promise<void> {
  // Reading what was stored under load takes time.
  await look();
  for (let still = 0, end = performance.now() + restMs; still < LOOKS_STILL; await sleep(LOOK_MS)) {
    const { turns } = auditor.ledger;
    await person.decide();
    await look();
    const why = unrest(auditor) ?? person.waits();
    still = why || auditor.ledger.turns !== turns ? 0 : still + 1;
    if (why && performance.now() > end) throw new Error(`not idle within ${restMs} ms: ${why}`);
  }
}

/** Resolves unknown effects and suspended actors, as an operator would. */
class Person {
  readonly #decided = new Map<string, number>();
  readonly #directed = new Map<string, number>();
  readonly #cell: FaultCell;
  readonly #auditor: Auditor;

  constructor(cell: FaultCell, auditor: Auditor) {
    this.#cell = cell;
    this.#auditor = auditor;
  }

  get figures(): { readonly unknown: number } {
    return { unknown: this.#decided.size };
  }

  waits(): string | undefined {
    const { ledger } = this.#auditor;
    for (const [id] of undecided(ledger)) return `effect ${id} is not decided`;
    for (const actor of suspended(ledger)) return `${actor} is suspended`;
    return undefined;
  }

  /** First `again`, then the outcome that it would have had. */
  async decide(): Promise<void> {
    const { gateway } = this.#cell;
    const { ledger } = this.#auditor;
    for (const [id, { state, attempt }] of undecided(ledger)) {
      if (state !== 'unknown' || this.#decided.get(id) === attempt) continue;
      const decision = this.#decided.has(id)
        ? ({ kind: 'done', output: 'decided' } as const)
        : ({ kind: 'again' } as const);
      const answer = await gateway.decide(id, decision);
      if (answer.kind === 'accepted') this.#decided.set(id, attempt);
    }
    for (const actor of suspended(ledger)) {
      const times = this.#directed.get(actor) ?? 0;
      if (times > 20) continue;
      this.#directed.set(actor, times + 1);
      const type = times > 0 ? 'sys.stop' : 'sys.restart';
      const principal = { sub: 'operator', roles: ['operator'] };
      await gateway.tell(actor as Address, { type, uid: 'operator' }, { principal });
    }
  }
}
