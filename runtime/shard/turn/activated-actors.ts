/**
 * The actors of one shard that are in memory, as a cache over the fold. A message for an actor that
 * is not in memory loads its row (activation); an idle actor is removed (passivation) and then uses
 * no memory. Every row is checked against the machine before it is used.
 */
import { type Address, parseAddress, shardOf } from '../../../protocols/address.ts';
import { errorData, TroupeError } from '../../../protocols/errors.ts';
import type { ActorDefinition } from '../../actor/define-actor.ts';
import type { Registry } from '../../actor/registry.ts';
import { checkRow } from '../../statechart/check.ts';
import { type StepRequest, type Live, initialState, load, save } from '../../statechart/host.ts';
import { type ActorRow, decodeActorRow, PendingRow } from './actor-row.ts';
import { type Fold, TABLE } from '../commit/fold.ts';
import type { Keys } from './keys.ts';
import type { OutItem } from '../commit/records.ts';
import {
  metaOf,
  type ActivatedActor,
  type ActivatedActorStore,
  type TurnContext,
} from './turn-context.ts';

/** A row that this worker's machines cannot take: the actor is quarantined, never misread. */
export class UnreadableRow extends TroupeError {
  constructor(actor: Address, machine: string, problems: readonly string[]) {
    super(
      'UNAVAILABLE',
      `${actor} was stored by ${machine}, which this worker cannot continue: ${problems.join('; ')}`,
    );
  }
}

const TOUCH_AFTER_MS = 1_000;

export class ActivatedActors implements ActivatedActorStore {
  readonly keys: Keys;
  readonly #fold: Fold;
  readonly #shards: number;
  readonly #max: number;
  readonly #registry: Registry;
  readonly #now: () => number;
  readonly #cache = new Map<Address, ActivatedActor>();

  constructor(options: {
    fold: Fold;
    keys: Keys;
    shards: number;
    max: number;
    registry: Registry;
    now: () => number;
  }) {
    this.#fold = options.fold;
    this.keys = options.keys;
    this.#shards = options.shards;
    this.#max = options.max;
    this.#registry = options.registry;
    this.#now = options.now;
  }

  get size(): number {
    return this.#cache.size;
  }

  readonly shardOf = (actor: Address): number => shardOf(actor, this.#shards);

  /**
   * The actor from memory or from its row; undefined if it does not exist. @throws UnreadableRow
   */
  find(actor: Address): ActivatedActor | undefined {
    const cached = this.#cache.get(actor);
    if (cached) {
      this.#touch(cached);
      return cached;
    }
    const bytes = this.#fold.get(TABLE.actor, actor);
    return bytes && this.#keep(this.#activate(actor, decodeActorRow(bytes)));
  }

  /**
   * A new actor, created by its first message. @throws TroupeError when its initial state cannot be
   * made
   */
  create(t: TurnContext, item: OutItem, definition: ActorDefinition): ActivatedActor {
    const { live, requests } = initialStateOf(t, item, definition);
    const supervisor = item.supervise ? item.from : undefined;
    return this.#keep({
      address: item.to,
      definition,
      actor: {
        machine: definition.name,
        status: 'active',
        life: t.turnNo,
        crashes: [],
        stashFirst: 0,
        stashEnd: 0,
        ...(supervisor ? { supervisor } : {}),
      },
      live,
      initialRequests: requests,
      unsaved: true,
      usedAt: this.#now(),
    });
  }

  /** Writes the actor's row into the turn. */
  save(t: TurnContext, resident: ActivatedActor): void {
    t.draft.put(TABLE.actor, resident.address, rowOf(resident).bytes);
  }

  /**
   * The same after a step of the machine. The row is encoded with its record, unless it could pass
   * the limit of a turn: then its size is needed now.
   */
  saveLate(t: TurnContext, resident: ActivatedActor): void {
    const row = rowOf(resident);
    const fits = t.draft.bytes + row.bytesMax <= t.world.limits.turnBytesMax;
    t.draft.put(TABLE.actor, resident.address, fits ? row : row.bytes);
  }

  isActive(actor: Address): boolean {
    return this.#cache.has(actor);
  }

  /** Removes the actor and its row: the next message to its address creates a new one. */
  forget(t: TurnContext, resident: ActivatedActor): void {
    t.draft.put(TABLE.actor, resident.address, null);
    this.#cache.delete(resident.address);
  }

  /** Passivates actors that were idle for longer than their type allows. */
  passivate(): void {
    const now = this.#now();
    for (const [actor, { usedAt, definition, unsaved }] of this.#cache) {
      if (!unsaved && now - usedAt >= definition.idleMs) this.#cache.delete(actor);
    }
  }

  /** Forgets what is in memory; the row stays the truth. */
  drop(actor: Address): void {
    this.#cache.delete(actor);
  }

  /** The order of use is exact to `TOUCH_AFTER_MS`, because moving an entry of a map costs. */
  #touch(resident: ActivatedActor): void {
    const now = this.#now();
    if (now - resident.usedAt < TOUCH_AFTER_MS) return;
    resident.usedAt = now;
    this.#cache.delete(resident.address);
    this.#cache.set(resident.address, resident);
  }

  #keep(resident: ActivatedActor): ActivatedActor {
    this.#cache.set(resident.address, resident);
    if (this.#cache.size > this.#max) {
      for (const oldest of this.#cache.keys()) {
        this.#cache.delete(oldest);
        break;
      }
    }
    return resident;
  }

  #activate(actor: Address, row: ActorRow): ActivatedActor {
    const { definition, live, beside } = this.#fit(actor, row);
    return {
      address: actor,
      definition,
      actor: beside,
      live,
      initialRequests: [],
      unsaved: false,
      usedAt: this.#now(),
    };
  }

  /**
   * Migrates to the newest version, or stays with the version that wrote the row where it is still
   * registered.
   */
  #fit(actor: Address, row: ActorRow): Readable {
    const definition = this.#registry.latest(parseAddress(actor).type);
    const exact = this.#registry.exact(row.machine);
    if (!definition) throw new UnreadableRow(actor, row.machine, ['its type is not registered']);
    const migrate =
      exact === definition ? undefined : definition.migrate[Number(row.machine.split('@')[1])];
    const chosen = migrate || exact === definition ? definition : exact;
    if (!chosen)
      throw new UnreadableRow(actor, row.machine, [
        `version ${definition.version} has no migration from it`,
      ]);
    const { row: stored, ...beside } = row;
    try {
      const fit = migrate ? migrate(stored) : stored;
      const problems = row.status === 'active' ? checkRow(chosen.machine, fit) : [];
      if (problems.length > 0) throw new UnreadableRow(actor, row.machine, problems);
      const live = load(chosen.machine, fit);
      return {
        definition: chosen,
        live,
        beside: migrate ? { ...beside, machine: chosen.name } : beside,
      };
    } catch (error) {
      if (error instanceof UnreadableRow) throw error;
      throw new UnreadableRow(actor, row.machine, [errorData(error).message]);
    }
  }
}

/** What the turn stores of the actor. */
function rowOf(resident: ActivatedActor): PendingRow {
  resident.unsaved = false;
  return new PendingRow({ ...resident.actor, row: save(resident.live) });
}

type Readable = {
  readonly definition: ActorDefinition;
  readonly live: Live;
  readonly beside: ActivatedActor['actor'];
};

/**
 * The actor, if it exists and this worker can read its row. @throws the error of a damaged store
 */
export function findReadable(
  { residents }: { readonly residents: ActivatedActorStore },
  actor: Address,
): ActivatedActor | undefined {
  try {
    return residents.find(actor);
  } catch (error) {
    if (error instanceof UnreadableRow) return undefined;
    throw error;
  }
}

/** The initial state of a new actor, or of one that its supervisor restarts. */
export function initialStateOf(
  t: TurnContext,
  item: OutItem,
  definition: ActorDefinition,
): { live: Live; requests: StepRequest[] } {
  const { tenant, key } = parseAddress(item.to);
  return initialState(
    definition.machine,
    { self: item.to, tenant, key, now: t.group.now },
    metaOf(t, item),
  );
}
