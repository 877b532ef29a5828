/**
 * Actors as Stately's inspection frames (`@statelyai/inspect` 0.7): `@xstate.actor` for each actor,
 * then `@xstate.event` and `@xstate.snapshot` for each of its turns. Payloads of events are not
 * included; the context only on request, with the installation's secrets masked.
 */
import { setMaxListeners } from 'node:events';
import { maskedJson } from '../../operations/masked.ts';
import type { ActorTurn, ActorView } from '../../protocols/actor-view.ts';
import { type Address, isAddress, parseAddress } from '../../protocols/address.ts';
import type { System } from '../../runtime/index.ts';

export type InspectionParts = {
  readonly system: Pick<System, 'actors'>;
  /** the chart of a machine, named type@version, as JSON; undefined if it is not known here */
  readonly chartOf: (machine: string) => string | undefined;
  /** replaces every secret that the installation knows */
  readonly maskSecrets: (text: string) => string;
};

export type Inspected = {
  /** parents before their children */
  readonly actors: readonly Address[];
  readonly context: boolean;
  /** also actors that messages of these create from now on, up to ACTORS_MAX in total */
  readonly children: boolean;
};

/** Each is followed on its own. */
export const ACTORS_MAX = 20;

/** The version of `@statelyai/inspect` whose frames these are. */
const INSPECT_VERSION = '0.7.2';
/** Characters of frames that wait for a client that does not read; then the stream ends. */
const WAITING_CHARACTERS_MAX = 32 * 2 ** 20;

/**
 * The frames as JSON texts, until `signal` is aborted or the client is too slow.
 * @throws TroupeError UNAVAILABLE when an actor cannot be read
 */
export async function* inspectionFrames(
  parts: InspectionParts,
  inspected: Inspected,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const waiting = new WaitingFrames(parts.maskSecrets, signal);
  const inspection = new Inspection(parts, inspected, waiting);
  try {
    await inspection.begin();
    yield* waiting.frames();
  } finally {
    waiting.end();
  }
}

/** Who is followed for one client. */
class Inspection {
  readonly #parts: InspectionParts;
  readonly #inspected: Inspected;
  readonly #waiting: WaitingFrames;
  /** followed, or known to be no child */
  readonly #seen: Set<string>;
  #followed: number;

  constructor(parts: InspectionParts, inspected: Inspected, waiting: WaitingFrames) {
    this.#parts = parts;
    this.#inspected = inspected;
    this.#waiting = waiting;
    this.#seen = new Set(inspected.actors);
    this.#followed = inspected.actors.length;
  }

  /** Sends the frames of the actors as they are now, in their order, and follows them. */
  async begin(): Promise<void> {
    const { actors } = this.#inspected;
    // Begins to follow before it reads, so that no turn is missed.
    const all = await Promise.all(actors.map((actor) => this.#turnsOf(actor)));
    for (const [at, actor] of actors.entries())
      await this.#follow(new ActorInspector(this.#parts, this.#sourceOf(actor)), all[at]!);
  }

  #turnsOf(actor: Address): Promise<AsyncIterable<ActorTurn>> {
    const { context } = this.#inspected;
    return this.#parts.system.actors.turns(actor, this.#waiting.signal, { context });
  }

  /** @param creator its parent, where it has no supervisor among the inspected actors */
  #sourceOf(actor: Address, creator?: Address): Source {
    const { actors, context } = this.#inspected;
    return { actor, rootId: actors[0] ?? '', parents: actors, context, creator };
  }

  async #follow(inspector: ActorInspector, turns: AsyncIterable<ActorTurn>): Promise<void> {
    this.#waiting.push(await inspector.first());
    void this.#read(inspector, turns).catch((error: unknown) => this.#waiting.end(error));
  }

  async #read(inspector: ActorInspector, turns: AsyncIterable<ActorTurn>): Promise<void> {
    for await (const turn of turns) {
      this.#waiting.push(await inspector.framesOf(turn));
      if (this.#inspected.children) await this.#followChildren(inspector.actor, turn);
    }
  }

  async #followChildren(parent: Address, turn: ActorTurn): Promise<void> {
    for (const { to } of turn.sent) {
      if (this.#seen.has(to) || this.#followed >= ACTORS_MAX || !isAddress(to)) continue;
      if (parseAddress(to).tenant !== parseAddress(parent).tenant) continue;
      this.#seen.add(to);
      if (!(await this.#isCreatedBy(parent, turn, to))) continue;
      this.#followed++;
      const inspector = new ActorInspector(this.#parts, this.#sourceOf(to, parent));
      await this.#follow(inspector, await this.#turnsOf(to));
    }
  }

  /** It does not exist yet, or its first turn was a message of the parent's turn. */
  async #isCreatedBy(parent: Address, { at }: ActorTurn, actor: Address): Promise<boolean> {
    const { actors } = this.#parts.system;
    const { turns, next } = await actors.history(actor, { limit: YOUNG_TURNS });
    const first = turns.at(-1);
    if (!first) return (await actors.get(actor)) === undefined;
    return next === undefined && first.from === parent && first.at >= at;
  }
}

/** Turns that a new actor has taken at most when it is looked at. */
const YOUNG_TURNS = 20;

/** Frames on their way to one client. */
class WaitingFrames {
  readonly #mask: (text: string) => string;
  readonly #ended = new AbortController();
  readonly #texts: string[] = [];
  #characters = 0;
  #failure: unknown;
  #wake = (): void => {};

  constructor(mask: (text: string) => string, signal: AbortSignal) {
    this.#mask = mask;
    setMaxListeners(0, this.#ended.signal);
    if (signal.aborted) this.end();
    else signal.addEventListener('abort', () => this.end(), { once: true });
  }

  /** aborted when nothing is sent any more */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  push(frames: readonly object[]): void {
    for (const frame of frames) {
      const text = maskedJson(frame, this.#mask);
      this.#characters += text.length;
      this.#texts.push(text);
    }
    if (this.#characters > WAITING_CHARACTERS_MAX) this.end();
    this.#wake();
  }

  end(failure?: unknown): void {
    this.#failure ??= failure;
    this.#texts.length = 0;
    this.#ended.abort();
    this.#wake();
  }

  /** @throws what ended it */
  async *frames(): AsyncGenerator<string> {
    while (!this.signal.aborted) {
      const next = this.#texts.shift();
      if (next === undefined) await new Promise<void>((resolve) => (this.#wake = resolve));
      else {
        this.#characters -= next.length;
        yield next;
      }
    }
    if (this.#failure !== undefined) throw this.#failure;
  }
}

type Source = {
  readonly actor: Address;
  readonly rootId: string;
  /** a supervisor among them is the parent */
  readonly parents: readonly string[];
  readonly context: boolean;
  readonly creator: Address | undefined;
};

/** The frames of one actor. */
class ActorInspector {
  readonly #parts: InspectionParts;
  readonly #source: Source;
  #isAnnounced = false;

  constructor(parts: InspectionParts, source: Source) {
    this.#parts = parts;
    this.#source = source;
  }

  get actor(): Address {
    return this.#source.actor;
  }

  /** The actor as it is now; nothing if it does not exist yet. */
  async first(): Promise<readonly object[]> {
    const view = await this.#view();
    if (!view) return [];
    this.#isAnnounced = true;
    const { actor, parents, creator } = this.#source;
    const { machine, supervisor } = view;
    const definition = this.#parts.chartOf(machine);
    const parentId = parents.find((one) => one === supervisor && one !== actor) ?? creator;
    const described = { name: actor, parentId, ...(definition ? { definition } : {}) };
    return [{ type: '@xstate.actor', ...this.#head(), ...described, snapshot: snapshotOf(view) }];
  }

  async framesOf(turn: ActorTurn): Promise<readonly object[]> {
    const announced = this.#isAnnounced ? [] : await this.first();
    const event = { type: turn.event ?? turn.input };
    const sent = { type: '@xstate.event', ...this.#head(turn.at), event, sourceId: turn.from };
    if (turn.state === undefined) return [...announced, sent];
    const { status = 'active', state: value, context = {} } = turn;
    const snapshot = { status, value, context };
    return [
      ...announced,
      sent,
      { type: '@xstate.snapshot', ...this.#head(turn.at), event, snapshot },
    ];
  }

  #view(): Promise<ActorView | undefined> {
    const { actor, context } = this.#source;
    return this.#parts.system.actors.get(actor, { context });
  }

  #head(at = Date.now()) {
    const { actor, rootId } = this.#source;
    return { _version: INSPECT_VERSION, createdAt: String(at), id: null, rootId, sessionId: actor };
  }
}

const snapshotOf = ({ status, state: value, context = {} }: ActorView) => ({
  status,
  value,
  context,
});
