/**
 * Publishes the turns of actors as `actor.turn` to the connections that watch them. Each watched
 * actor is read once, from its journal, for all its watchers.
 *
 * Invariants:
 *  1. A watcher receives every turn that is committed after `watch` has resolved, in order, or a
 *     later turn with the number of those that it missed.
 *  2. A lagging watcher costs one turn of memory: of the turns that it cannot receive, the last one
 *     is kept and sent when it has caught up.
 *  3. At most ACTORS_WATCHED_MAX actors per connection. The journal of an actor without watchers is
 *     not read, and no state is kept of ended connections.
 */
import { masked } from '../../../operations/masked.ts';
import type { ActorTurn } from '../../../protocols/actor-view.ts';
import type { Address } from '../../../protocols/address.ts';
import { errorData, TroupeError } from '../../../protocols/errors.ts';
import { type ActorTurnEvent, ACTORS_WATCHED_MAX } from '../../../protocols/gateway/index.ts';
import type { Clock, System } from '../../../runtime/index.ts';
import { ACTOR_TURNS_RETRY_MS, ACTORS_WATCHED_IN_ALL_MAX } from '../limits.ts';
import type { Logger } from '../log.ts';
import { type Connection, eventHead } from '../transport/connection.ts';

type Receiver = Pick<Connection, 'lagging' | 'event' | 'lease'>;

/** What one connection has not received. */
type Watcher = { held: ActorTurn | undefined; missed: number; readonly release: () => void };

type WatchedActor = {
  readonly watchers: Map<Receiver, Watcher>;
  readonly end: AbortController;
  /** the journal is read from here on */
  readonly opened: Promise<void>;
};

export type ActorWatchOptions = {
  readonly system: Pick<System, 'actors'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** replaces every secret that the installation knows */
  readonly maskSecrets: (text: string) => string;
};

export class ActorWatch {
  readonly #o: ActorWatchOptions;
  readonly #watched = new Map<Address, WatchedActor>();
  #cancelRetry: (() => void) | undefined;

  constructor(options: ActorWatchOptions) {
    this.#o = options;
  }

  /**
   * Sends the turns of the actor to the connection from now on. May be repeated.
   * @throws TroupeError RATE_LIMIT_EXCEEDED when too many are watched; when the journal of the
   *   actor cannot be read
   */
  async watch(connection: Receiver, actor: Address): Promise<void> {
    const found = this.#watched.get(actor);
    if (found?.watchers.has(connection)) return found.opened;
    this.#assertRoom(connection);
    const watched = found ?? this.#open(actor);
    const unwatch = () => this.unwatch(connection, actor);
    const watcher = { held: undefined, missed: 0, release: () => {} };
    watched.watchers.set(connection, watcher);
    watcher.release = connection.lease(unwatch);
    await watched.opened.catch((error: unknown) => {
      unwatch();
      throw error;
    });
  }

  /** Does nothing if the connection does not watch the actor. */
  unwatch(connection: Receiver, actor: Address): void {
    const watched = this.#watched.get(actor);
    watched?.watchers.get(connection)?.release();
    if (!watched?.watchers.delete(connection) || watched.watchers.size > 0) return;
    watched.end.abort();
    this.#watched.delete(actor);
  }

  close(): void {
    for (const { end } of this.#watched.values()) end.abort();
    this.#watched.clear();
    this.#cancelRetry?.();
  }

  #assertRoom(connection: Receiver): void {
    let own = 0;
    for (const { watchers } of this.#watched.values()) if (watchers.has(connection)) own++;
    if (own < ACTORS_WATCHED_MAX && this.#watched.size < ACTORS_WATCHED_IN_ALL_MAX) return;
    throw new TroupeError(
      'RATE_LIMIT_EXCEEDED',
      own < ACTORS_WATCHED_MAX
        ? `the clients of this gateway watch ${ACTORS_WATCHED_IN_ALL_MAX} actors, its limit`
        : `this connection watches ${own} actors, its limit: unwatch some`,
    );
  }

  #open(actor: Address): WatchedActor {
    const end = new AbortController();
    const turns = this.#o.system.actors.turns(actor, end.signal);
    const opened = turns.then((all) => void this.#publish(actor, watched, all));
    const watched: WatchedActor = { watchers: new Map(), end, opened };
    this.#watched.set(actor, watched);
    return watched;
  }

  /** Never rejects. */
  async #publish(
    actor: Address,
    watched: WatchedActor,
    turns: AsyncIterable<ActorTurn>,
  ): Promise<void> {
    let ended = 'the gateway reads no more turns of it';
    try {
      for await (const turn of turns) this.#send(actor, watched, turn);
    } catch (error) {
      this.#o.log.warn({ err: error, actor }, 'gateway: the turns of an actor cannot be read');
      ended = errorData(error).message;
    }
    if (watched.end.signal.aborted) return;
    const head = headOf({ actor, ended });
    for (const connection of watched.watchers.keys()) {
      connection.event(head);
      this.unwatch(connection, actor);
    }
  }

  #send(actor: Address, { watchers }: WatchedActor, given: ActorTurn): void {
    const turn = masked(given, this.#o.maskSecrets);
    const shared = headOf({ actor, turn });
    for (const [connection, watcher] of watchers) {
      if (watcher.held !== undefined) watcher.missed++;
      if (connection.lagging) {
        watcher.held = turn;
        this.#retryLater();
        continue;
      }
      watcher.held = undefined;
      const { missed } = watcher;
      watcher.missed = 0;
      connection.event(missed === 0 ? shared : headOf({ actor, turn, missed }));
    }
  }

  #retryLater(): void {
    this.#cancelRetry ??= this.#o.clock.after(ACTOR_TURNS_RETRY_MS, () => {
      this.#cancelRetry = undefined;
      this.#retry();
    });
  }

  /** Sends the held turns to connections that have caught up. */
  #retry(): void {
    for (const [actor, { watchers }] of this.#watched)
      for (const [connection, watcher] of watchers) {
        const { held: turn, missed } = watcher;
        if (turn === undefined) continue;
        if (connection.lagging) {
          this.#retryLater();
          continue;
        }
        watcher.held = undefined;
        watcher.missed = 0;
        connection.event(headOf({ actor, turn, ...(missed > 0 ? { missed } : {}) }));
      }
  }
}

const headOf = (payload: ActorTurnEvent) => eventHead('actor.turn', payload);
