/**
 * Summaries: what history keeps of each turn. Names are numbered per batch, so a turn of an actor
 * that repeats itself takes about ten bytes.
 *
 * Bytes: per turn the varints that `SummaryWriter.add` puts, in this order.
 */
import type { ActorTurn } from '../../protocols/actor-view.ts';
import { defined } from '../../protocols/defined.ts';
import type { TurnSource } from '../shard/turn/turn-source.ts';
import { TABLE } from '../shard/commit/fold.ts';
import type { OpenTurn } from '../shard/commit/group.ts';
import { outlineOf, type TurnOutline } from '../shard/commit/turn-outline.ts';
import type { LinkTarget, TurnResult } from '../shard/commit/records.ts';
import { srcOf } from '../shard/turn/intents.ts';
import { LruMap } from '../lru-map.ts';
import { VarintReader, VarintWriter } from './varints.ts';

export type EffectName = {
  /**
   * unique for the actor: number of the turn that created or restarted it, and key of the effect
   */
  readonly id: string;
  /** absent when its start was not seen */
  readonly effect?: string;
};

/** A turn as it is kept. */
export type TurnSummary = Pick<
  ActorTurn,
  'turn' | 'at' | 'from' | 'result' | 'why' | 'state' | 'status' | 'sent'
> & {
  readonly actor: string;
  readonly machine: string;
  /** `unknown`: `name` is the reference of the input; `timer`: the id of its delay */
  readonly kind: SourceKind;
  readonly name: string;
  /** of outcomes: the id of the invoke */
  readonly job?: string;
  readonly opened: readonly EffectName[];
  readonly ended: readonly EffectName[];
};

/**
 * Their positions are stored: add new names at the end only. `again`: an operator decided to repeat
 * an effect; `unknown`: the input was trimmed.
 */
const KINDS = [
  'unknown',
  'message',
  'timer',
  'event',
  'done',
  'failed',
  'notStarted',
  'again',
] as const;
type SourceKind = (typeof KINDS)[number];
const RESULTS: readonly TurnResult[] = [
  'applied',
  'ignored',
  'duplicate',
  'refused',
  'expired',
  'stashed',
  'crashed',
  'poison',
  'dropped',
];
/** The position of each. */
const idsOf = <Name extends string>(names: readonly Name[]) =>
  Object.fromEntries(names.map((name, id) => [name, id])) as Record<Name, number>;
const KIND_IDS = idsOf(KINDS);
const RESULT_IDS = idsOf(RESULTS);

/**
 * What follows the flags. `repeats`: machine, message type, sender and state are those of the
 * actor's last turn in the batch, and its status is `active` or unknown as before.
 */
const HAS = {
  repeats: 16,
  sent: 32,
  why: 64,
  state: 128,
  from: 256,
  isActive: 512,
  status: 1024,
  effects: 2048,
};
const RESULT_MASK = 15;

/** Logs without an owning actor, to which a turn appends. */
const logNames = { dlq: 'the dead letters', transcript: 'its transcript' };
export const receiverName = (target: LinkTarget, to: string): string =>
  typeof target === 'number' ? to : logNames[target];

const WHY_CHARACTERS_MAX = 200;
/** Open effects whose names an owner remembers until they end. */
const OPEN_EFFECTS_MAX = 10_000;

/** Names of open effects by intent id, for turns that only end them. */
export type OpenEffects = Pick<Map<string, string>, 'get' | 'set' | 'delete'>;
export const openEffects = (): OpenEffects => new LruMap<string, string>(OPEN_EFFECTS_MAX);

/** An actor of a batch, with what its last turn was: most turns repeat that. */
export type KnownActor = {
  readonly id: number;
  machine: string;
  /** type of the message; undefined for any other input */
  name: string | undefined;
  from: string | undefined;
  state: unknown;
  status: string | undefined;
};

export class SummaryWriter {
  readonly #effects: OpenEffects;
  readonly #ids = new Map<string, number>();
  readonly #names: string[] = [];
  readonly #out = new VarintWriter();
  #turn = 0;
  #at = 0;

  constructor(effects: OpenEffects) {
    this.#effects = effects;
  }

  get length(): number {
    return this.#out.length;
  }

  get names(): readonly string[] {
    return this.#names;
  }

  bytes(): Buffer {
    return this.#out.bytes();
  }

  /** @param known the turn's actor, as `actor` returned it */
  add(turn: OpenTurn, now: number, known: KnownActor): void {
    const { turnNo, why } = turn;
    const o = this.#out;
    const outline = turn.outline ?? outlineOf(turn);
    const repeats =
      outline.name !== undefined &&
      !outline.hasEffects &&
      known.name === outline.name &&
      known.from === outline.from &&
      known.machine === turn.machine &&
      known.state === outline.state &&
      known.status === outline.status;
    let flags = RESULT_IDS[turn.result];
    if (outline.hasSent) flags |= HAS.sent;
    if (why !== undefined) flags |= HAS.why;
    o.put(turnNo - this.#turn);
    o.put(now - this.#at);
    this.#turn = turnNo;
    this.#at = now;
    o.put(known.id);
    if (repeats) o.put(flags | HAS.repeats);
    else this.#putAll(turn, known, outline, flags);
    if (outline.hasSent) this.#putSent(turn);
    if (why !== undefined) o.put(this.#id(why.slice(0, WHY_CHARACTERS_MAX)));
    if (outline.hasEffects) this.#putEffects(turn);
  }

  /** Everything that `repeats` leaves out. */
  #putAll(turn: OpenTurn, known: KnownActor, outline: TurnOutline, ownFlags: number): void {
    const o = this.#out;
    const { state, status, from, hasEffects } = outline;
    let flags = ownFlags;
    if (state !== undefined) flags |= HAS.state;
    if (from !== undefined) flags |= HAS.from;
    if (status === 'active') flags |= HAS.isActive;
    else if (status !== undefined) flags |= HAS.status;
    if (hasEffects) flags |= HAS.effects;
    o.put(flags);
    o.put(this.#id(turn.machine));
    const { kind, name, job } = namesOf(turn.source, turn.input);
    o.put(KIND_IDS[kind]);
    o.put(this.#id(name));
    if (isOutcome(kind)) o.put(this.#id(job ?? ''));
    if (state !== undefined) o.put(this.#id(JSON.stringify(state)));
    if (from !== undefined) o.put(this.#id(from));
    if (flags & HAS.status) o.put(this.#id(status!));
    known.machine = turn.machine;
    known.name = kind === 'message' ? name : undefined;
    known.from = from;
    known.state = state;
    known.status = status;
  }

  /** An actor whose turns are to be added; once for each. */
  actor(actor: string): KnownActor {
    return {
      id: this.#id(actor),
      machine: '',
      name: undefined,
      from: undefined,
      state: undefined,
      status: undefined,
    };
  }

  #putSent({ out }: OpenTurn): void {
    this.#out.put(out.length);
    for (const [target, , , { to, event }] of out) {
      this.#out.put(this.#id(receiverName(target, to)));
      this.#out.put(this.#id(event.type));
    }
  }

  #putEffects({ puts, actor, source }: OpenTurn): void {
    const intents = puts.filter(([table]) => table === TABLE.intent);
    const opened = intents.filter(([, , value]) => value !== null);
    const ended = intents.filter(([, , value]) => value === null);
    this.#out.put(opened.length);
    for (const [, key, value] of opened) {
      const src = srcOf(value as Uint8Array);
      this.#effects.set(key, src);
      this.#out.put(this.#id(key.slice(actor.length + 1)));
      this.#out.put(this.#id(src));
    }
    this.#out.put(ended.length);
    for (const [, key] of ended) {
      const own = source?.kind === 'outcome' && source.id === key ? source.intent?.src : undefined;
      this.#out.put(this.#id(key.slice(actor.length + 1)));
      this.#out.put(this.#id(own ?? this.#effects.get(key) ?? ''));
      this.#effects.delete(key);
    }
  }

  #id(text: string): number {
    let id = this.#ids.get(text);
    if (id !== undefined) return id;
    id = this.#names.push(text) - 1;
    this.#ids.set(text, id);
    return id;
  }
}

/** The turns that a `SummaryWriter` wrote, in their order; of one actor if it is given. */
export function readSummaries(
  names: readonly string[],
  bytes: Uint8Array,
  actor?: string,
): TurnSummary[] {
  const found: TurnSummary[] = [];
  const wanted = actor === undefined ? -1 : names.indexOf(actor);
  if (actor !== undefined && wanted < 0) return found;
  const reader = new VarintReader(bytes);
  const name = () => names[reader.next()] ?? '';
  const last = { turn: 0, at: 0 };
  const lasts = new Map<number, Repeated>();
  while (reader.hasMore) {
    last.turn += reader.next();
    last.at += reader.next();
    const of = reader.next();
    const flags = reader.next();
    const repeated = flags & HAS.repeats ? lasts.get(of)! : readAll(reader, name, flags);
    lasts.set(of, repeated);
    const summary = readRest(reader, name, flags);
    if (actor === undefined || of === wanted)
      found.push({ ...last, actor: names[of] ?? '', ...repeated, ...summary });
  }
  return found;
}

/** The bytes of a `SummaryWriter` without the turns behind the numbered one. */
export function summariesUpTo(
  names: readonly string[],
  bytes: Uint8Array,
  turnNo: number,
): { readonly bytes: Uint8Array; readonly lastTurn: number; readonly lastAt: number } {
  const reader = new VarintReader(bytes);
  const name = () => names[reader.next()] ?? '';
  const last = { lastTurn: 0, lastAt: 0 };
  while (reader.hasMore) {
    const end = reader.at;
    const turn = last.lastTurn + reader.next();
    if (turn > turnNo) return { bytes: bytes.subarray(0, end), ...last };
    last.lastTurn = turn;
    last.lastAt += reader.next();
    reader.next();
    const flags = reader.next();
    if (!(flags & HAS.repeats)) readAll(reader, name, flags);
    readRest(reader, name, flags);
  }
  return { bytes, ...last };
}

type Repeated = Pick<
  TurnSummary,
  'machine' | 'kind' | 'name' | 'job' | 'state' | 'from' | 'status'
>;

function readAll(reader: VarintReader, name: () => string, flags: number): Repeated {
  const machine = name();
  const kind = KINDS[reader.next()] ?? 'unknown';
  const source = { kind, name: name(), ...(isOutcome(kind) ? { job: name() } : {}) };
  const state = flags & HAS.state ? (JSON.parse(name()) as unknown) : undefined;
  const from = flags & HAS.from ? name() : undefined;
  const status = flags & HAS.isActive ? 'active' : flags & HAS.status ? name() : undefined;
  return { machine, ...source, ...defined({ state, from, status }) };
}

function readRest(
  reader: VarintReader,
  name: () => string,
  flags: number,
): Pick<TurnSummary, 'result' | 'why' | 'sent' | 'opened' | 'ended'> {
  const sent = flags & HAS.sent ? pairs(reader, name, (to, type) => ({ to, type })) : [];
  const why = flags & HAS.why ? name() : undefined;
  const effects = () =>
    flags & HAS.effects
      ? pairs(reader, name, (id, effect) => ({ id, ...(effect === '' ? {} : { effect }) }))
      : [];
  return {
    result: RESULTS[flags & RESULT_MASK]!,
    ...defined({ why }),
    sent,
    opened: effects(),
    ended: effects(),
  };
}

const pairs = <T>(
  reader: VarintReader,
  name: () => string,
  make: (first: string, second: string) => T,
): T[] => Array.from({ length: reader.next() }, () => make(name(), name()));

const isOutcome = (kind: SourceKind): boolean => KIND_IDS[kind] >= KIND_IDS.done;

function namesOf(
  source: TurnSource | undefined,
  input: string,
): Pick<TurnSummary, 'kind' | 'name' | 'job'> {
  switch (source?.kind) {
    case 'message':
      return { kind: 'message', name: source.item.event.type };
    case 'timer':
      return { kind: 'timer', name: source.name };
    case 'event':
      return { kind: 'event', name: source.event.type };
    case 'outcome': {
      const { src = '', job = '' } = source.intent ?? {};
      return { kind: source.outcome.kind, name: src, job };
    }
    case undefined:
      return { kind: 'unknown', name: input };
  }
}
