/**
 * Audience: who is told what happens to everybody's runs: operators that may read, and those that
 * lost their connection a moment ago, who get it when they come back (replay.ts). Nodes are not
 * among them.
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
    yield* this.#replay.lingering;
  }

  /** All of them, also who may not read: for what has a scope of its own, as approvals have. */
  readonly includingUnprivileged: Iterable<Connection> = {
    [Symbol.iterator]: () => this.#everybody(),
  };

  *#everybody(): Generator<Connection> {
    yield* this.#connections;
    yield* this.#replay.lingering;
  }
}
