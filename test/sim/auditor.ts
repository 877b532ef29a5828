/**
 * Auditor: accounts for every message. It receives each turn that counts (from the ledger) and
 * everything that was visible outside. At the end it checks what is missing:
 *
 * 1. every message has exactly one fate: applied, refused, expired, crashed, dropped to the dead
 *   letters, or waiting in the stash of an actor that accepts no more messages (I9);
 * 2. messages of one sender to one actor are applied in order, per lane and kind;
 * 3. an actor's stored state is the result of its turns: one applied input, one step (I3);
 * 4. the sender of a refused message is notified, and a lost message is a dead letter;
 * 5. everything visible outside comes from a record that counts, at the moment it was seen (I2);
 * 6. an effect of class `once` starts at most once per decision, and only after its Start (V6).
 */
import type { Address } from '../../protocols/address.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import type { Message } from '../../protocols/statechart.ts';
import type { ActorRow } from '../../runtime/shard/turn/actor-row.ts';
import type { OutItem, Turn } from '../../runtime/shard/commit/records.ts';
import type { Answer, Tally } from './actors.ts';
import { Ledger, type TurnView } from './ledger.ts';

/** A message of a client from the client's point of view; copies with one key are one message. */
export type Request = {
  readonly uid: string;
  readonly client: string;
  readonly seq: number;
  readonly to: Address;
  readonly keyed: boolean;
  /** the final response to the client; `unsure`: a copy may still be in transit */
  outcome: 'pending' | 'accepted' | 'answered' | 'refused' | 'unsure';
};

export type Seen = { readonly id: string; readonly result?: unknown; readonly error?: ErrorData };

/** One life of a message in its receiver. */
export type Fate = {
  readonly result: string;
  readonly view: TurnView;
  readonly final: boolean;
};

type Place = { readonly sender: string; readonly n: number };

const COMMANDS = new Set(['hard', 'soft', 'arm', 'do', 'cancel', 'finish']);
/**
 * Kinds of messages that a busy actor stashes together; order holds within one. For types where a
 * newer message replaces a waiting one, order holds within the type.
 */
const kindOf = (actor: string, type: string): string => {
  if (type === 'arm' || (actor.includes('/coalesce/') && type !== 'hard')) return type;
  return type === 'soft' || type === 'do' ? 'deferred' : 'prompt';
};

const ASKED_TO_THROW = /asked to throw by /;
/** Results after which nothing more happens to a message. */
const FINAL = new Set(['applied', 'ignored', 'refused', 'expired', 'crashed', 'poison']);

/** Reasons of dead letters for messages that end without a turn of their own. */
const DROPPED = new Set(['DROPPED_OLDEST', 'COALESCED']);

export class Auditor {
  readonly ledger: Ledger;
  readonly #fates = new Map<string, Fate[]>();
  /** `actor n id` of every step that counts; `actor n` where no row or message names the id */
  readonly #steps = new Set<string>();
  /**
   * actors whose row is with a later turn of the record, as the turns so far must have left them
   */
  readonly #rowless = new Map<string, Rowless>();
  /** ids that a dead letter of a counting record names, with its reason */
  readonly #letters = new Map<string, string>();
  /** by message, from its first turn: a stashed one is met again without its link */
  readonly #places = new Map<string, Place>();
  /** (actor, sender with lane, kind) -> the last one applied */
  readonly #lasts = new Map<string, { n: number; id: string }>();
  readonly #requests = new Map<string, Request>();
  /** ids of requests, by the id that the entry point assigned */
  readonly #copies = new Map<string, Request>();
  /** ids of the copies that have a turn, by the request's uid */
  readonly #copiesOf = new Map<string, Set<string>>();
  readonly #starts = new Map<string, { starts: number; again: number }>();
  /** what was answered under a key, by the request */
  readonly #answers = new Map<string, Seen[]>();
  /** actors that lost a timer or an outcome as poison: their machines may wait forever */
  readonly derailed = new Set<string>();
  now: () => number = () => 0;
  /** keeps a line of the trace, whose text is needed only when the run fails */
  say: (line: () => string) => void = () => {};

  constructor(cell: string, shards: number) {
    this.ledger = new Ledger(cell, shards, (view) => this.#turn(view));
  }

  get faults(): readonly string[] {
    return this.ledger.faults;
  }

  #fault(what: string): void {
    this.ledger.fault(`${this.now()} ${what}`);
  }

  get requests(): ReadonlyMap<string, Request> {
    return this.#requests;
  }

  fatesOf(id: string): readonly Fate[] {
    return this.#fates.get(id) ?? [];
  }

  /** How a message ended: its last turns, or the dead letter it became while it waited. */
  endsOf(id: string): string[] {
    const ends = this.fatesOf(id)
      .filter(({ final }) => final)
      .map(({ result, view }) => `${result} in turn ${view.turn.turnNo} of shard ${view.shard}`);
    const letter = this.letterOf(id);
    return letter ? [...ends, `letter ${letter}`] : ends;
  }

  /** The reason of the dead letter that a message became while it waited. */
  letterOf(id: string): string | undefined {
    const letter = this.#letters.get(id);
    return letter && DROPPED.has(letter) ? letter : undefined;
  }

  /** By effect of class `once`, how often it started and how often that was decided again. */
  get starts(): ReadonlyMap<string, { readonly starts: number; readonly again: number }> {
    return this.#starts;
  }

  /** Ids of the copies of a request that have a turn. */
  copiesOf(uid: string): string[] {
    return [...(this.#copiesOf.get(uid) ?? [])];
  }

  answersOf(uid: string): readonly Seen[] {
    return this.#answers.get(uid) ?? [];
  }

  // ---- requests of clients and visible outputs

  request(request: Request): void {
    this.#requests.set(request.uid, request);
  }

  /** The inbox of a client has received an answer. */
  sawResponse(seen: Seen): void {
    const { id, result, error } = seen;
    const fates = this.#fates.get(id) ?? [];
    if (fates.length === 0)
      return this.#fault(
        `${id} was answered (${JSON.stringify(error ?? result)}) by a record that does not count`,
      );
    if (!error) this.#stepCounts(result as Answer, `the answer to ${id}`);
    else if (
      !fates.some(({ result: r }) => r !== 'applied' && r !== 'stashed') &&
      !this.#letters.has(id)
    )
      this.#fault(`${id} was refused (${error.message}), and its turn says otherwise`);
    const request = this.#copies.get(id);
    if (!request) return;
    const answers = this.#answers.get(request.uid) ?? [];
    this.#answers.set(request.uid, [...answers, seen]);
  }

  sawEvent(topic: string, event: Message): void {
    this.#stepCounts(event as unknown as Answer, `an event on ${topic}`);
  }

  /** A runner is requested to run an intent. */
  sawRun(id: string, attempt: number, state: string): void {
    if (!this.ledger.intents.has(`${id}@${attempt}@${state}`))
      this.#fault(`effect ${id} attempt ${attempt} is ${state} in no record that counts`);
  }

  /** The work of an effect starts. */
  sawStart(id: string, attempt: number, cls: string): void {
    const state = cls === 'once' ? 'started' : 'open';
    if (!this.ledger.intents.has(`${id}@${attempt}@${state}`))
      this.#fault(`${cls} effect ${id} began without being ${state}`);
    if (cls !== 'once') return;
    const row = this.#started(id);
    row.starts++;
    if (row.starts > 1 + row.again)
      this.#fault(`once effect ${id} began ${row.starts} times after ${row.again} decisions`);
  }

  #started(id: string): { starts: number; again: number } {
    const row = this.#starts.get(id) ?? { starts: 0, again: 0 };
    this.#starts.set(id, row);
    return row;
  }

  #stepCounts({ actor, n, of }: Answer, what: string): void {
    if (!this.#steps.has(`${actor} ${n} ${of}`) && !this.#steps.has(`${actor} ${n}`))
      this.#fault(`${what} tells of step ${n} of ${actor}, which no record that counts has`);
  }

  // ---- turns

  #turn(view: TurnView): void {
    this.say(() => lineOf(view));
    const { turn, taken } = view;
    const { item, client } = taken;
    if (item)
      this.#fates.set(item.id, [
        ...(this.#fates.get(item.id) ?? []),
        { result: turn.result, view, final: FINAL.has(turn.result) },
      ]);
    if (client) this.#copy(client.item);
    if (item && !this.#places.has(item.id)) {
      const place = this.#placeOf(view, item);
      if (place) this.#places.set(item.id, place);
    }
    this.#settles(view);
    if (turn.result === 'poison' && !item) this.derailed.add(turn.actor);
    for (const [target, , , out] of turn.out) if (target === 'dlq') this.#letter(out);
    this.#step(view);
    if (turn.result === 'applied' && item) this.#inOrder(view, item);
    if (item && (turn.result === 'refused' || turn.result === 'expired'))
      this.#checkSenderNotified(view, item);
    if (turn.result === 'crashed' && !ASKED_TO_THROW.test(turn.why ?? ''))
      this.#fault(`${turn.actor} crashed by itself: ${turn.why}`);
    if ((turn.result === 'crashed' || turn.result === 'poison') && item) {
      if (!this.#letters.has(item.id))
        this.#fault(`${item.id} crashed ${turn.actor} without a dead letter`);
      this.#checkSenderNotified(view, item);
    }
    if (turn.result === 'ignored')
      this.#fault(`${turn.actor} ignored ${item?.event.type ?? turn.input} in ${turn.why}`);
  }

  /**
   * An outcome settles an open intent, and only a success may belong to an earlier attempt (E4).
   */
  #settles({ turn, taken: { outcome, intent } }: TurnView): void {
    if (!outcome || turn.result === 'dropped') return;
    const { kind } = outcome.outcome;
    if (!intent || (kind !== 'done' && intent.attempt !== outcome.attempt))
      this.#fault(`${turn.input}: ${kind} of attempt ${outcome.attempt} settles ${outcome.intent}`);
    if (kind === 'again') this.#started(outcome.intent).again++;
  }

  #copy(item: OutItem): void {
    if (item.event.type.startsWith('sys.')) return;
    const uid = item.event['uid'] as string;
    const request = this.#requests.get(uid);
    if (!request) return this.#fault(`a message without a sender: ${item.id}`);
    this.#copies.set(item.id, request);
    const copies = this.#copiesOf.get(uid) ?? new Set();
    this.#copiesOf.set(uid, copies.add(item.id));
  }

  #letter({ event }: OutItem): void {
    const { id, reason } = event as unknown as { id: string; reason: string };
    this.#letters.set(id, reason);
  }

  /** Rule 3: how a turn may change its actor's row. */
  #step(view: TurnView): void {
    const { turn, taken, before, after } = view;
    const rowless = this.#rowless.get(turn.actor);
    const was = rowless ?? tallyOf(before);
    if (after === undefined && turn.state !== undefined) return this.#stepWithoutRow(view, was);
    if (after !== undefined) this.#rowless.delete(turn.actor);
    if (after === null) {
      // The actor is done and removed: its last turn can no longer be read.
      this.#steps.add(`${turn.actor} ${(was?.n ?? 0) + 1} ${taken.seen}`);
      return;
    }
    if (!after) return;
    const is = tallyOf(after)!;
    const reborn = (rowless ?? before)?.life !== after.life;
    const from = reborn || !was ? ZERO : was;
    const directive = taken.item && turn.why === taken.item.event.type;
    const stepped =
      turn.result === 'applied' &&
      !directive &&
      !taken.outcome?.outcome.kind.match(/again|notStarted/);
    if (is.n !== from.n + (stepped ? 1 : 0))
      this.#fault(
        `${turn.actor}: turn ${turn.turnNo} (${turn.result} ${turn.input}) moved n from ${from.n} to ${is.n}`,
      );
    if (!stepped) return;
    if (taken.seen !== undefined && is.last !== taken.seen)
      this.#fault(`${turn.actor}: turn ${turn.turnNo} applied ${is.last} instead of ${taken.seen}`);
    this.#steps.add(`${turn.actor} ${is.n} ${is.last}`);
    const sent = commandsOf(turn);
    if (sent !== is.sent - from.sent)
      this.#fault(
        `${turn.actor}: turn ${turn.turnNo} counted ${is.sent - from.sent} and sent ${sent}`,
      );
  }

  /**
   * Only a plain step leaves its row to a later turn of its record, whose row must then show all of
   * them.
   */
  #stepWithoutRow({ turn, taken, before }: TurnView, was: Pick<Tally, 'n' | 'sent'> = ZERO): void {
    if (turn.result !== 'applied')
      this.#fault(`${turn.actor}: turn ${turn.turnNo} (${turn.result}) has no row of its own`);
    const n = was.n + 1;
    const life = this.#rowless.get(turn.actor)?.life ?? before?.life ?? turn.turnNo;
    this.#rowless.set(turn.actor, { n, sent: was.sent + commandsOf(turn), life });
    this.#steps.add([turn.actor, n, ...(taken.seen === undefined ? [] : [taken.seen])].join(' '));
  }

  /** Rule 2. */
  #inOrder({ turn }: TurnView, item: OutItem): void {
    const place = this.#places.get(item.id);
    if (!place || item.event.type.startsWith('sys.')) return;
    // A copy of a message whose first copy was refused temporarily may arrive at any time.
    if (this.fatesOf(item.id).some(({ result }) => result === 'refused')) return;
    const lane = `${turn.actor}|${place.sender}|${kindOf(turn.actor, item.event.type)}`;
    const last = this.#lasts.get(lane);
    if (last && last.n >= place.n)
      this.#fault(
        `${turn.actor} applied ${item.id} (${place.n}) after ${last.id} (${last.n}) of ${place.sender}`,
      );
    this.#lasts.set(lane, { n: place.n, id: item.id });
  }

  /** The position of a message among those of its sender; none for one whose send is uncertain. */
  #placeOf({ taken, turn }: TurnView, item: OutItem): Place | undefined {
    if (taken.link) return { sender: `${item.from} ${taken.link.from}`, n: taken.link.n };
    const request = this.#copies.get(item.id);
    if (!request || request.outcome === 'unsure') return undefined;
    return { sender: `${request.client} ${turn.input[0]}`, n: request.seq };
  }

  /** Rule 4. */
  #checkSenderNotified({ turn }: TurnView, item: OutItem): void {
    const { from, reply, event, id } = item;
    // Replies over the Bus may be lost: a repeat with the same key receives the reply again.
    if (reply?.inbox) return;
    const answers = event.type === 'reply' || event.type === 'refused';
    const sender = reply?.actor ?? (answers ? undefined : from);
    if (!sender) {
      if (!this.#letters.has(id))
        this.#fault(
          `${turn.actor} refused ${id} (${turn.why}): no sender is notified, and there is no dead letter`,
        );
      return;
    }
    const notified = turn.out.some(
      ([, , , out]) =>
        out.to === sender && out.event['to'] === id && TELLS_BACK.has(out.event.type),
    );
    if (!notified)
      this.#fault(`${turn.actor} refused ${id} (${turn.why}): ${sender} is not notified`);
  }
}

/** The expected state of an unknown row. */
type Rowless = Pick<Tally, 'n' | 'sent'> & Pick<ActorRow, 'life'>;

/** How many commands the actor sent in the turn. */
const commandsOf = ({ actor, out }: Turn): number =>
  out.filter(
    ([target, , , { from: by, event }]) =>
      typeof target === 'number' &&
      by === actor &&
      (COMMANDS.has(event.type) || event.type.startsWith('sys.')),
  ).length;

const TELLS_BACK = new Set(['reply', 'refused']);
const ZERO: Tally = {
  n: 0,
  last: '',
  sent: 0,
  armed: 0,
  fired: 0,
  cancelled: 0,
  begun: 0,
  ended: 0,
  aborted: 0,
};
export const tallyOf = (row: ActorRow | undefined | null): Tally | undefined =>
  row ? (row.row.snap.c as Tally) : undefined;

/** A turn in one line of the trace. */
function lineOf({ shard, turn, taken, after }: TurnView): string {
  const { item } = taken;
  const what = item ? `${item.event.type} ${item.id} of ${item.from ?? 'a client'}` : '';
  const state = after ? `${after.status} ${JSON.stringify(after.row.snap.v)}` : '';
  const why = turn.why ? `(${turn.why})` : '';
  return `shard ${shard} #${turn.turnNo} ${turn.input} ${turn.actor} ${what} ${turn.result} ${why} ${state}`;
}
