/**
 * The receivers of run events: operators with read access, and recently ended connections, whose
 * clients receive the events when they resume (replay.ts). Nodes are excluded.
 */
import type { Connection } from '../transport/connection.ts';
import type { Replay } from './replay.ts';

export class Audience implements Iterable<Connection> {
  readonly #connections: ReadonlySet<Connection>;
  readonly #replay: Replay;

  constructor(connections: ReadonlySet<Connection>, replay: Replay) {
    this.#connections = connections;
    this.#replay = replay;
  }

  *[Symbol.iterator](): Generator<Connection> {
    for (const connection of this.#connections) if (connection.mayRead) yield connection;
    yield* this.#replay.resumable;
  }

  /**
   * Also connections without read access, for events that have their own scope, such as approvals.
   */
  readonly includingUnprivileged: Iterable<Connection> = {
    [Symbol.iterator]: () => this.#all(),
  };

  *#all(): Generator<Connection> {
    yield* this.#connections;
    yield* this.#replay.resumable;
  }
}
