/**
 * One actor, live: its turns as they are committed, and what it waits for.
 *
 * Invariants: between two frames any number of turns costs one notification; the last TURNS_MAX
 * turns are kept, each once, in order. The watch and the present state are requested again at an
 * interval, so a lost connection heals by itself; turns that were missed meanwhile come from the
 * history of the actor, where one is kept.
 */
import type { ForkPoint } from '../../protocols/session-fork.ts';
import { connectionFailure } from '../../client/gateway-errors.ts';
import type { ActorTurn, ActorView, ActorWait } from '../../protocols/actor-view.ts';
import { FrameBatch } from './frame-batch.ts';
import type { ActorsGateway, ActorTurnEvent } from './gateway.ts';

export type LiveActor = {
  readonly actor: string;
  readonly view?: ShownActor;
  /** newest last */
  readonly turns: readonly ActorTurn[];
  /** turns that this page did not receive */
  readonly missed: number;
  readonly error?: string;
};

/** What `actors.show` answers; an older gateway does not say why the actor waits. */
export type ShownActor = ActorView & {
  readonly waits?: readonly ActorWait[];
  readonly forkedFrom?: ForkPoint;
};

/** What `actors.history` answers. */
type Past = { readonly turns: readonly ActorTurn[] };

const TURNS_MAX = 300;
const AGAIN_MS = 5_000;
/** Until the connection is back. */
const CONNECT_MS = 500;
/** The present state is read at most this often while turns arrive. */
const SHOW_MS = 300;

export class ActorWatch {
  readonly #gateway: ActorsGateway;
  readonly #onChange: (live: LiveActor) => void;
  readonly #batch = new FrameBatch(() => this.#onChange(this.#live));
  readonly #unlisten: () => void;
  #live: LiveActor;
  #again: ReturnType<typeof setTimeout> | undefined;
  #show: ReturnType<typeof setTimeout> | undefined;
  /** before the first turns, and after a lost connection or missed turns */
  #lacksTurns = true;
  #ended = false;

  constructor(gateway: ActorsGateway, actor: string, onChange: (live: LiveActor) => void) {
    this.#gateway = gateway;
    this.#onChange = onChange;
    this.#live = { actor, turns: [], missed: 0 };
    this.#unlisten = gateway.watch((event, payload) => {
      if (event === 'actor.turn') this.#receive(payload as ActorTurnEvent);
    });
    void this.#start();
  }

  end(): void {
    this.#ended = true;
    clearTimeout(this.#again);
    clearTimeout(this.#show);
    this.#batch.end();
    this.#unlisten();
    this.#gateway.request('actors.unwatch', { actor: this.#live.actor }).catch(() => {});
  }

  async #start(): Promise<void> {
    let againMs = AGAIN_MS;
    try {
      await this.#gateway.request('actors.watch', { actor: this.#live.actor });
      await this.#read();
      if (this.#lacksTurns) await this.#readHistory();
    } catch (error) {
      this.#lacksTurns = true;
      // The page shows a lost connection itself.
      if (connectionFailure(error) === undefined) this.#set({ error: (error as Error).message });
      else againMs = CONNECT_MS;
    }
    if (!this.#ended) this.#again = setTimeout(() => void this.#start(), againMs);
  }

  async #read(): Promise<void> {
    const { actor } = this.#live;
    const view = await this.#gateway.operate<ShownActor>('actors.show', { actor });
    const { error: _, ...live } = this.#live;
    this.#live = live;
    this.#set({ view });
  }

  async #readHistory(): Promise<void> {
    this.#lacksTurns = false;
    const { actor } = this.#live;
    const { turns } = await this.#gateway
      .operate<Past>('actors.history', { actor, limit: TURNS_MAX })
      // An older gateway has no such operation, and a type may keep no history.
      .catch((): Past => ({ turns: [] }));
    this.#add(turns);
  }

  /** Keeps the newest turns, each once. */
  #add(found: readonly ActorTurn[]): void {
    const known = new Map(this.#live.turns.map((turn) => [turn.turn, turn]));
    const added = found.filter(({ turn }) => !known.has(turn));
    if (added.length === 0) return;
    const turns = [...known.values(), ...added].toSorted((a, b) => a.turn - b.turn);
    this.#set({ turns: turns.slice(-TURNS_MAX) });
  }

  #receive({ actor, turn, missed = 0 }: ActorTurnEvent): void {
    if (actor !== this.#live.actor || !turn) return;
    const { turns, view } = this.#live;
    const last = turns.at(-1);
    if (last && last.turn >= turn.turn) return;
    if (missed > 0) this.#lacksTurns = true;
    this.#set({
      turns: [...turns.slice(1 - TURNS_MAX), turn],
      missed: this.#live.missed + missed,
      ...(view && turn.state !== undefined ? { view: { ...view, state: turn.state } } : {}),
    });
    this.#show ??= setTimeout(() => {
      this.#show = undefined;
      this.#read().catch(() => {});
    }, SHOW_MS);
  }

  #set(change: Partial<LiveActor>): void {
    if (this.#ended) return;
    this.#live = { ...this.#live, ...change };
    this.#batch.soon();
  }
}
