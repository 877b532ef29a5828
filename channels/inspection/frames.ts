/**
 * Actors as Stately's inspection frames (`@statelyai/inspect` 0.7): `@xstate.actor` for each actor,
 * then `@xstate.event` and `@xstate.snapshot` for each of its turns. Payloads of events are not
 * included; the context only on request, with the installation's secrets masked.
 */
import type { ActorTurn, ActorView } from '../../protocols/actor-view.ts';
import type { Address } from '../../protocols/address.ts';
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
};

/** Characters of frames that wait for a client that does not read; then the stream ends. */
const WAITING_CHARACTERS_MAX = 32 * 2 ** 20;

/**
 * The frames as JSON texts, until `signal` is aborted or the client is too slow.
 * @throws TroupeError UNAVAILABLE when an actor cannot be read
 */
export async function* inspectionFrames(
  parts: InspectionParts,
  { actors, context }: Inspected,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const rootId = actors[0] ?? '';
  const waiting: string[] = [];
  let characters = 0;
  let wake = (): void => {};
  const push = (frames: readonly object[]): void => {
    for (const frame of frames) {
      const text = parts.maskSecrets(JSON.stringify(frame));
      waiting.push(text);
      characters += text.length;
    }
    wake();
  };
  const ends = actors.map(async (actor) => {
    const source = { actor, rootId, parents: actors, context };
    // Begins to follow before it reads, so that no turn is missed.
    const turns = await parts.system.actors.turns(actor, signal);
    return { source, turns };
  });
  let failure: unknown;
  let isOver = false;
  const running: Promise<void>[] = [];
  for (const { source, turns } of await Promise.all(ends)) {
    const inspector = new ActorInspector(parts, source);
    push(await inspector.first());
    running.push(
      follow(inspector, turns, push).catch((error: unknown) => {
        failure = error;
      }),
    );
  }
  void Promise.all(running).then(() => {
    isOver = true;
    wake();
  });
  for (;;) {
    const next = waiting.shift();
    if (next !== undefined) {
      characters -= next.length;
      yield next;
    } else if (isOver) break;
    else await new Promise<void>((resolve) => (wake = resolve));
    if (characters > WAITING_CHARACTERS_MAX || signal.aborted) break;
  }
  if (failure !== undefined) throw failure;
}

async function follow(
  inspector: ActorInspector,
  turns: AsyncIterable<ActorTurn>,
  push: (frames: readonly object[]) => void,
): Promise<void> {
  for await (const turn of turns) push(await inspector.framesOf(turn));
}

type Source = {
  readonly actor: Address;
  readonly rootId: string;
  /** a supervisor among them is the parent */
  readonly parents: readonly string[];
  readonly context: boolean;
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

  /** The actor as it is now; nothing if it does not exist yet. */
  async first(): Promise<readonly object[]> {
    const view = await this.#view();
    if (!view) return [];
    this.#isAnnounced = true;
    const { actor, parents } = this.#source;
    const { machine, supervisor } = view;
    const definition = this.#parts.chartOf(machine);
    const parentId = parents.find((one) => one === supervisor && one !== actor);
    const described = { name: actor, parentId, ...(definition ? { definition } : {}) };
    return [{ type: '@xstate.actor', ...this.#head(), ...described, snapshot: snapshotOf(view) }];
  }

  async framesOf(turn: ActorTurn): Promise<readonly object[]> {
    if (!this.#isAnnounced) return this.first();
    const event = { type: turn.event ?? turn.input };
    const sent = { type: '@xstate.event', ...this.#head(turn.at), event, sourceId: turn.from };
    if (turn.state === undefined) return [sent];
    const view = this.#source.context ? await this.#view() : undefined;
    const { status = 'active', state: value } = turn;
    const snapshot = { status, value, context: view?.context ?? {} };
    return [sent, { type: '@xstate.snapshot', ...this.#head(turn.at), event, snapshot }];
  }

  #view(): Promise<ActorView | undefined> {
    const { actor, context } = this.#source;
    return this.#parts.system.actors.get(actor, { context });
  }

  #head(at = Date.now()) {
    const { actor, rootId } = this.#source;
    return { _version: '0.7.2', createdAt: String(at), id: null, rootId, sessionId: actor };
  }
}

const snapshotOf = ({ status, state: value, context = {} }: ActorView) => ({
  status,
  value,
  context,
});
