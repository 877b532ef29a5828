/**
 * World: the state of the model of the commit protocol (docs/commit-protocol.md).
 *
 * Two shards. Clients send to the actors of shard 0; each client message makes its actor send one
 * message to the actor of shard 1. At most two processes at a time consider themselves owner of a
 * shard, so that a former owner and its successor interleave in every way. A world is immutable: a
 * step returns a new one and shares all unchanged parts.
 *
 * Only the invariants read fields that are marked as *ghost*; no rule does.
 */

/** Index of an entry in a log, from 1; 0 is "before the first". */
export type Position = number;
export type ShardIndex = 0 | 1;
/** A client message and its idempotency key: `c0`, `c1`, ... */
export type ClientMessage = string;

export type LinkItem = {
  readonly n: number;
  /**
   * message and epoch of the turn that sent it: a turn run again by another owner sends other bytes
   */
  readonly body: string;
};

/** A flight on the link is one entry with a contiguous batch: item i has number `first + i`. */
export type MailEntry =
  | { readonly kind: 'client'; readonly key: ClientMessage }
  | { readonly kind: 'links'; readonly first: number; readonly bodies: readonly string[] }
  | { readonly kind: 'outcome' }
  /** only by the mistake `timerByMail` */
  | { readonly kind: 'timer' };

export type Intent = {
  readonly state: 'none' | 'open' | 'started' | 'unknown' | 'closed';
  /** epoch of the owner that committed the Start; 0 if none did */
  readonly startedEpoch: Position;
};

/** The fold of a journal: everything a shard knows. */
export type ShardState = {
  /** last mail position whose turn is in the fold */
  readonly mailFloor: Position;
  /** the inputs that the actors applied, in order; represents their snapshots */
  readonly applied: readonly string[];
  readonly keys: readonly ClientMessage[];
  /** number of the next item on the link to shard 1 */
  readonly linkNext: number;
  /** items above `outFloor` */
  readonly outbox: readonly LinkItem[];
  readonly outFloor: number;
  /** highest number accepted on the link from shard 0 */
  readonly linkIn: number;
  readonly intent: Intent;
  readonly timer: 'none' | 'armed' | 'fired';
};

/** The changes of the state by one input. */
export type Turn = {
  readonly mailFloor?: Position;
  readonly applied?: readonly string[];
  readonly key?: ClientMessage;
  readonly sent?: LinkItem;
  readonly linkIn?: number;
  readonly intent?: Intent;
  readonly timer?: ShardState['timer'];
  /** an operator decided to try the effect again (G5) */
  readonly again?: true;
};

export type Snapshot = {
  readonly covers: Position;
  readonly state: ShardState;
  /** the blob is written to its end */
  readonly whole: boolean;
};

export type JournalRecord = {
  readonly recId: string;
  readonly kind: 'EPOCH' | 'TURNS' | 'SNAPSHOT';
  readonly prev: Position;
  readonly turns: readonly Turn[];
  readonly outFloor: number;
  readonly snapshot: Snapshot | null;
  /** ghost: the state from which it was built */
  readonly builtOn: ShardState;
};

export type Stored = {
  readonly position: Position;
  readonly record: JournalRecord;
  readonly counts: boolean;
};

export type Journal = {
  /** every record ever stored; those <= `trimmedTo` can no longer be read */
  readonly stored: readonly Stored[];
  readonly last: Position;
  readonly trimmedTo: Position;
  /** the latest SNAPSHOT record that counts */
  readonly pointer: Snapshot | null;
  /** ghost: fold of all records that count */
  readonly committed: ShardState;
  /** ghost: bodies of all items that count, in the order of their numbers */
  readonly sentEver: readonly string[];
  /** ghost: a record that counts although it was not built on all records before it */
  readonly builtOnLess: string;
};

export type Mail = { readonly entries: readonly MailEntry[]; readonly trimmedTo: Position };

/** An appended record whose outcome its owner does not know yet. */
export type Pending = { readonly record: JournalRecord; readonly ask: 'read back' | 'resend' };

/**
 * A process that owns a shard, considers itself its owner, or tries to become it. A crash loses all
 * of it.
 */
export type Process = {
  readonly id: number;
  readonly phase: 'loading' | 'claiming' | 'owning';
  /** while loading: the pointer it read; undefined: not read yet */
  readonly pointer: Snapshot | null | undefined;
  readonly epoch: Position;
  /** position of the last journal record that it has read */
  readonly last: Position;
  readonly state: ShardState;
  readonly pending: Pending | null;
  /** link numbers up to here are stored in the receiver's mailbox */
  readonly settled: number;
  /** its own Start was answered and is not used yet (G3) */
  readonly mayStart: boolean;
  readonly runner: boolean;
  readonly snapshot: Snapshot | null;
  /** journal positions that it may trim */
  readonly trimTo: Position;
  /** mistakes only: records that were rebuilt after an unknown answer */
  readonly rebuilds: number;
  /** mistakes only: flights sent without waiting for earlier ones */
  readonly sentAhead: number;
  /** mistakes only: it has made the mistake once */
  readonly strayed: boolean;
};

export type Shard = {
  readonly mail: Mail;
  readonly journal: Journal;
  readonly processes: readonly Process[];
  /** mistake `dedupeBeforeCommit` only: keys remembered outside the fold */
  readonly seenEarly: readonly ClientMessage[];
};

/** An append in transit: it arrives later, or never. */
export type Delayed =
  | { readonly to: 'journal'; readonly shard: ShardIndex; readonly record: JournalRecord }
  | { readonly to: 'mail'; readonly shard: ShardIndex; readonly entry: MailEntry }
  | {
      readonly to: 'link';
      readonly entry: MailEntry;
      readonly sender: number;
      readonly upTo: number;
    };

/** How many faults of each kind may still happen. */
export type Faults = {
  /** journal appends without an answer */
  readonly unknown: number;
  readonly crash: number;
  /** take-overs of a shard whose owner still lives, per shard */
  readonly takeOver: readonly [number, number];
  /** link flights delayed, or stored without an answer */
  readonly link: number;
  /** client appends and outcomes doubled or delayed */
  readonly client: number;
  /** appends that pass the fence although one with the same expectation is stored */
  readonly fenceLeak: number;
};

/** Optional steps. */
export type Choices = { readonly snapshot: number; readonly again: number };

export type World = {
  readonly shards: readonly [Shard, Shard];
  readonly network: readonly Delayed[];
  readonly clients: Readonly<Record<ClientMessage, 'unsent' | 'trying' | 'accepted'>>;
  /** ghosts `starts` and `again`; runners whose owner was replaced continue (A4) */
  readonly effects: {
    readonly starts: number;
    readonly again: number;
    readonly orphans: number;
  };
  readonly faults: Faults;
  readonly choices: Choices;
  readonly nextProcess: number;
};

export const emptyState: ShardState = {
  mailFloor: 0,
  applied: [],
  keys: [],
  linkNext: 1,
  outbox: [],
  outFloor: 0,
  linkIn: 0,
  intent: { state: 'none', startedEpoch: 0 },
  timer: 'none',
};

export function newProcess(id: number): Process {
  return {
    id,
    phase: 'loading',
    pointer: undefined,
    epoch: 0,
    last: 0,
    state: emptyState,
    pending: null,
    settled: 0,
    mayStart: false,
    runner: false,
    snapshot: null,
    trimTo: 0,
    rebuilds: 0,
    sentAhead: 0,
    strayed: false,
  };
}

function foldTurn(state: ShardState, turn: Turn): ShardState {
  return {
    mailFloor: turn.mailFloor ?? state.mailFloor,
    applied: turn.applied ? [...state.applied, ...turn.applied] : state.applied,
    keys: turn.key ? [...state.keys, turn.key] : state.keys,
    linkNext: turn.sent ? turn.sent.n + 1 : state.linkNext,
    outbox: turn.sent ? [...state.outbox, turn.sent] : state.outbox,
    outFloor: state.outFloor,
    linkIn: turn.linkIn ?? state.linkIn,
    intent: turn.intent ?? state.intent,
    timer: turn.timer ?? state.timer,
  };
}

/** The only function that changes a state: at commit, at take-over and in the ghost. */
export function fold(state: ShardState, turns: readonly Turn[], outFloor: number): ShardState {
  const after = turns.reduce(foldTurn, state);
  if (outFloor === after.outFloor) return after;
  return { ...after, outFloor, outbox: after.outbox.filter((item) => item.n > outFloor) };
}

export function withShard(world: World, shard: ShardIndex, change: Partial<Shard>): World {
  const changed = { ...world.shards[shard], ...change };
  return {
    ...world,
    shards: shard === 0 ? [changed, world.shards[1]] : [world.shards[0], changed],
  };
}

export function putMail(world: World, shard: ShardIndex, ...entries: readonly MailEntry[]): World {
  const { mail } = world.shards[shard];
  return withShard(world, shard, { mail: { ...mail, entries: [...mail.entries, ...entries] } });
}

/** Changes one process of a shard; `null` removes it. */
export function withProcess(
  world: World,
  shard: ShardIndex,
  id: number,
  change: Partial<Process> | null,
): World {
  const { processes } = world.shards[shard];
  const others = processes.filter((process) => process.id !== id);
  const process = processes.find((candidate) => candidate.id === id);
  if (!process) return world;
  const next = change ? [...others, { ...process, ...change }] : others;
  return withShard(world, shard, { processes: next });
}

/**
 * Canonical text of worlds. Immutable parts are turned into text once and numbered, so that the
 * text of a world is a short list of numbers. Processes of a shard and delayed appends have no
 * order.
 */
export class Identifier {
  readonly #numberOfPart = new WeakMap<object, number>();
  readonly #numberOfText = new Map<string, number>();
  readonly #wholeJournal: boolean;

  /**
   * @param wholeJournal the records themselves are part of the text, not only their fold: with
   * snapshots a load may start in the middle, and with a leaking fence a reader reads single
   * records
   */
  constructor(wholeJournal: boolean) {
    this.#wholeJournal = wholeJournal;
  }

  identify(world: World): string {
    const { shards, network, clients, effects, faults, choices } = world;
    const delayed = network.map((append) => this.#number(append, asText)).sort();
    const rest = [clients, effects, faults, choices].map((part) => this.#number(part, asText));
    return [...shards.map((shard) => this.#shard(shard)), delayed, rest, world.nextProcess].join(
      '/',
    );
  }

  #shard({ mail, journal, processes, seenEarly }: Shard): string {
    const owners = processes.map((process) => this.#number(process, asText)).sort();
    const logs = [this.#number(mail, mailText), this.#number(journal, this.#journalText)];
    return [...logs, this.#number(seenEarly, asText), ...owners].join(',');
  }

  #journalText = (journal: Journal): string => {
    const { stored, last, trimmedTo, pointer, committed, sentEver, builtOnLess } = journal;
    const readable = this.#wholeJournal
      ? stored.filter(({ position }) => position > trimmedTo)
      : stored.slice(-1).map(({ position, record }) => [position, record.recId]);
    return asText([readable, last, trimmedTo, pointer, committed, sentEver, builtOnLess]);
  };

  #number<Part extends object>(part: Part, text: (part: Part) => string): number {
    const known = this.#numberOfPart.get(part);
    if (known !== undefined) return known;
    const words = text(part);
    const number = this.#numberOfText.get(words) ?? this.#numberOfText.size;
    this.#numberOfText.set(words, number);
    this.#numberOfPart.set(part, number);
    return number;
  }
}

const asText = (part: unknown): string => JSON.stringify(part);
const mailText = ({ entries, trimmedTo }: Mail): string =>
  asText([entries.length, trimmedTo, entries.slice(trimmedTo)]);
