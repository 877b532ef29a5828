/**
 * Summaries: what history keeps of each turn. Names are numbered per batch, so a turn of an actor
 * that repeats itself takes about ten bytes.
 *
 * Bytes: per turn the varints that `SummaryWriter.add` puts, in this order.
 */
import type { ActorTurn } from '../../protocols/actor-view.ts';
import { defined } from '../../protocols/defined.ts';
import { decodeActorRow, PendingRow } from '../shard/turn/actor-row.ts';
import type { TurnSource } from '../shard/turn/turn-source.ts';
import { TABLE } from '../shard/commit/fold.ts';
import type { OpenTurn } from '../shard/commit/group.ts';
import type { LinkTarget, TurnResult } from '../shard/commit/records.ts';
import { decodeIntent } from '../shard/turn/intents.ts';
import { LruMap } from '../lru-map.ts';
import { VarintReader, VarintWriter } from './varints.ts';

export type EffectName = {
  /** unique for the actor: life and key */
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

/** Positions are stored: append only. */
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
const MESSAGE = KIND_IDS.message;

const HAS = { state: 16, from: 32, isActive: 64, sent: 128, why: 256, status: 512, effects: 1024 };
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
  machineId: number;
  name: string;
  nameId: number;
  from: string;
  fromId: number;
  state: unknown;
  stateId: number;
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
    const { turnNo, source, out, why } = turn;
    const o = this.#out;
    const item = source?.kind === 'message' ? source.item : undefined;
    const { state, status, hasEffects } = afterOf(turn);
    const from = item?.from ?? item?.principal?.sub;
    let flags = RESULT_IDS[turn.result];
    if (state !== undefined) flags |= HAS.state;
    if (from !== undefined) flags |= HAS.from;
    if (status === 'active') flags |= HAS.isActive;
    else if (status !== undefined) flags |= HAS.status;
    if (out.length > 0) flags |= HAS.sent;
    if (why !== undefined) flags |= HAS.why;
    if (hasEffects) flags |= HAS.effects;
    o.put(turnNo - this.#turn);
    o.put(now - this.#at);
    this.#turn = turnNo;
    this.#at = now;
    o.put(known.id);
    o.put(this.#machineId(known, turn.machine));
    o.put(flags);
    if (item) {
      o.put(MESSAGE);
      o.put(this.#nameId(known, item.event.type));
    } else this.#putSource(turn);
    if (state !== undefined) o.put(this.#stateId(known, state));
    if (from !== undefined) o.put(this.#fromId(known, from));
    if (out.length > 0) this.#putSent(turn);
    if (why !== undefined) o.put(this.#id(why.slice(0, WHY_CHARACTERS_MAX)));
    if (flags & HAS.status) o.put(this.#id(status!));
    if (hasEffects) this.#putEffects(turn);
  }

  /** An actor whose turns are to be added; once for each. */
  actor(actor: string): KnownActor {
    const id = this.#id(actor);
    return {
      id,
      machine: actor,
      machineId: id,
      name: actor,
      nameId: id,
      from: actor,
      fromId: id,
      state: undefined,
      stateId: 0,
    };
  }

  #machineId(known: KnownActor, machine: string): number {
    if (known.machine !== machine) {
      known.machine = machine;
      known.machineId = this.#id(machine);
    }
    return known.machineId;
  }

  #nameId(known: KnownActor, name: string): number {
    if (known.name !== name) {
      known.name = name;
      known.nameId = this.#id(name);
    }
    return known.nameId;
  }

  #fromId(known: KnownActor, from: string): number {
    if (known.from !== from) {
      known.from = from;
      known.fromId = this.#id(from);
    }
    return known.fromId;
  }

  #stateId(known: KnownActor, state: unknown): number {
    if (known.state !== state) {
      known.state = state;
      known.stateId = this.#id(JSON.stringify(state));
    }
    return known.stateId;
  }

  #putSource({ source, input }: OpenTurn): void {
    const { kind, name, job } = namesOf(source, input);
    this.#out.put(KIND_IDS[kind]);
    this.#out.put(this.#id(name));
    if (isOutcome(kind)) this.#out.put(this.#id(job ?? ''));
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
      const { src } = decodeIntent(value as Uint8Array);
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
  const last = { turn: 0, at: 0 };
  while (reader.hasMore) {
    last.turn += reader.next();
    last.at += reader.next();
    const of = reader.next();
    const summary = readOne(names, reader, { ...last, actor: names[of] ?? '' });
    if (actor === undefined || of === wanted) found.push(summary);
  }
  return found;
}

function readOne(
  names: readonly string[],
  reader: VarintReader,
  head: Pick<TurnSummary, 'turn' | 'at' | 'actor'>,
): TurnSummary {
  const name = () => names[reader.next()] ?? '';
  const machine = name();
  const flags = reader.next();
  const kind = KINDS[reader.next()] ?? 'unknown';
  const source = { kind, name: name(), ...(isOutcome(kind) ? { job: name() } : {}) };
  const state = flags & HAS.state ? (JSON.parse(name()) as unknown) : undefined;
  const from = flags & HAS.from ? name() : undefined;
  const sent = flags & HAS.sent ? pairs(reader, name, (to, type) => ({ to, type })) : [];
  const why = flags & HAS.why ? name() : undefined;
  const status = flags & HAS.isActive ? 'active' : flags & HAS.status ? name() : undefined;
  const effects = () =>
    flags & HAS.effects
      ? pairs(reader, name, (id, effect) => ({ id, ...(effect === '' ? {} : { effect }) }))
      : [];
  return {
    ...head,
    machine,
    result: RESULTS[flags & RESULT_MASK]!,
    ...source,
    ...defined({ state, from, why, status }),
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

type After = {
  readonly state: unknown;
  readonly status: string | undefined;
  readonly hasEffects: boolean;
};

/**
 * State and status of the actor after the turn, if it changed; its row may be with a later turn of
 * the record.
 */
function afterOf({ puts, actor, state }: OpenTurn): After {
  let row: OpenTurn['puts'][number][2] | undefined;
  let hasEffects = false;
  for (const put of puts) {
    if (put[0] === TABLE.actor && put[1] === actor) row = put[2];
    else if (put[0] === TABLE.intent) hasEffects = true;
  }
  if (!row) return { state, status: undefined, hasEffects };
  const { snap } = (row instanceof PendingRow ? row.row : decodeActorRow(row)).row;
  return { state: snap.v, status: snap.s, hasEffects };
}
