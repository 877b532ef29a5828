/**
 * Account: the auditor of the simulation, over a cell of real processes. It reads mailboxes,
 * journals, transcripts and dead letters of the cell from their beginning when all is calm again,
 * is told what the clients knew, what arrived at the gateway and which effects began, and then
 * looks for whatever is lost, doubled or different.
 */
import { existsSync, readFileSync } from 'node:fs';
import type { Address } from '../../protocols/address.ts';
import type { Message } from '../../protocols/statechart.ts';
import type { Bus } from '../../runtime/bus/bus.ts';
import { Auditor, type Seen } from '../../test/sim/auditor.ts';
import {
  closingFaults,
  stateFaults,
  suspended,
  undecided,
  unrest,
} from '../../test/sim/closing.ts';
import { BOSS } from '../../test/sim/workload.ts';
import type { FaultCell } from './cell.ts';
import type { Began } from './effects.ts';
import { Tape } from './tape.ts';
import { until } from './until.ts';
import { ENV } from './worker.ts';

/** What came to the gateway from the cell, in order. */
export class Arrivals {
  readonly #answers: Seen[] = [];
  readonly #events: Message[] = [];

  /** The bus, watched. */
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

  /** Notes what actors publish from now on. */
  watch({ gateway }: FaultCell): void {
    gateway.bus.subscribe('sim', ({ payload }) => void this.#events.push(payload as Message));
  }

  /** @param auditor has been played every journal */
  tell(auditor: Auditor): void {
    for (const answer of this.#answers) auditor.sawResponse(answer);
    for (const event of this.#events) auditor.sawEvent('sim', event);
  }
}

export type Account = {
  /** messages whose turn counts, of clients and of actors */
  readonly messages: number;
  readonly requests: number;
  /** effects of which only a person could say what became of them */
  readonly unknown: number;
  readonly lost: readonly string[];
  readonly doubled: readonly string[];
  readonly other: readonly string[];
};

const REST_MS = 120_000;
/** What is at rest for so long stays so. */
const STILL_MS = 1_500;

/**
 * Waits until nothing moves, deciding meanwhile what only a person can, and accounts for all. To be
 * called when every client has ended and every fault is over.
 */
export async function account(
  cell: FaultCell,
  auditor: Auditor,
  arrivals: Arrivals,
  folder: string,
): Promise<Account> {
  const { ledger, requests } = auditor;
  const actors = new Set<string>([BOSS, ...[...requests.values()].map(({ to }) => to)]);
  const tape = new Tape({ log: cell.ports.store.log, env: ENV, ledger, actors: [...actors] });
  const person = new Person(cell, auditor);
  const faults = ledger.faults;
  await rest(auditor, tape, person).catch((error: Error) => void faults.push(error.message));
  faults.push(...tape.left());
  for (const { intent, attempt, cls } of begun(folder)) auditor.sawStart(intent, attempt, cls);
  arrivals.tell(auditor);
  faults.push(...closingFaults(auditor));
  const { state } = cell.ports.store;
  for (const { shard } of ledger.shards) faults.push(...stateFaults(ledger, shard, state));
  return {
    messages: ledger.turns,
    requests: requests.size,
    unknown: person.decided.size,
    lost: faults.filter(isLoss),
    doubled: faults.filter(isDouble),
    other: faults.filter((fault) => !isLoss(fault) && !isDouble(fault)),
  };
}

const isLoss = (fault: string) => /is lost|has no turn|has 0 ends|is settled to/.test(fault);
const isDouble = (fault: string) => /lasting ends|has two turns|has [2-9] ends/.test(fault);

function begun(folder: string): Began[] {
  const file = `${folder}/effects`;
  if (!existsSync(file)) return [];
  // the last line of a worker that was killed may be half
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line) as Began);
}

async function rest(auditor: Auditor, tape: Tape, person: Person): Promise<void> {
  let why: string | undefined;
  let stillSince = performance.now();
  let turns = -1;
  const isStill = async () => {
    await tape.play();
    await person.decide();
    why = unrest(auditor) ?? person.waits();
    if (why || auditor.ledger.turns !== turns) stillSince = performance.now();
    turns = auditor.ledger.turns;
    return performance.now() - stillSince > STILL_MS;
  };
  await until('the cell comes to rest', isStill, REST_MS).catch(() => {
    throw new Error(`no rest within ${REST_MS} ms: ${why}`);
  });
}

/** Who decides what became of an unknown effect, and what to do with a suspended actor. */
class Person {
  readonly decided = new Map<string, number>();
  readonly #directed = new Map<string, number>();
  readonly #cell: FaultCell;
  readonly #auditor: Auditor;

  constructor(cell: FaultCell, auditor: Auditor) {
    this.#cell = cell;
    this.#auditor = auditor;
  }

  waits(): string | undefined {
    const { ledger } = this.#auditor;
    for (const [id] of undecided(ledger)) return `effect ${id} is not decided`;
    for (const actor of suspended(ledger)) return `${actor} is suspended`;
    return undefined;
  }

  /** First `again`, then what it would have answered. */
  async decide(): Promise<void> {
    const { gateway } = this.#cell;
    const { ledger } = this.#auditor;
    for (const [id, { state, attempt }] of undecided(ledger)) {
      if (state !== 'unknown' || this.decided.get(id) === attempt) continue;
      const decision = this.decided.has(id)
        ? ({ kind: 'done', output: 'decided' } as const)
        : ({ kind: 'again' } as const);
      const answer = await gateway.decide(id, decision);
      if (answer.kind === 'accepted') this.decided.set(id, attempt);
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
