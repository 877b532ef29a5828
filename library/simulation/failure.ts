/** A failing run: its history as text, as a picture and as a file that can be replayed. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ActorRecording, ActorTurn } from '../../protocols/actor-view.ts';
import type { Address } from '../../protocols/address.ts';
import type { System } from '../../runtime/system.ts';
import type { Fault } from './faults.ts';
import type { Run } from './run.ts';
import type { RunEvent, RunResult } from './run-parts.ts';
import type { SimulatedMessage } from './world.ts';

/** A broken rule, with the shortest history that was found. */
export type SimulationFailure = {
  readonly seed: number;
  /** name of the rule */
  readonly rule: string;
  readonly why: string;
  /** virtual milliseconds since the start */
  readonly at: number;
  /** of the shortest history */
  readonly messages: readonly SimulatedMessage[];
  readonly faults: readonly Fault[];
  /** what happened, one line each */
  readonly history: readonly string[];
  /** all of this, as it is printed */
  readonly text: string;
  /** the history as a sequence diagram in Mermaid */
  readonly sequence: string;
  /** what `troupe replay --file` reads: JSON */
  readonly replay: string;
  /** Writes text, picture and replay file into a folder. Returns their paths. */
  save(folder: string): readonly string[];
};

/** Content of a replay file. */
export type SimulationReplay = {
  readonly format: 'troupe-simulation';
  readonly version: 1;
  readonly seed: number;
  readonly rule: string;
  readonly why: string;
  readonly history: readonly string[];
  readonly sequence: string;
  /** the recorded turns of each actor, in the form of `GET /v1/actors/{actor}/recording` */
  readonly recordings: readonly (ActorRecording & { readonly actor: string })[];
  /** the turns of each actor as the page shows them, oldest first */
  readonly turns: readonly { readonly actor: string; readonly turns: readonly ActorTurn[] }[];
};

/** What is known about a history beside its run. */
export type Shortened = {
  /** numbers of the run that was found first */
  readonly before: { readonly messages: number; readonly faults: number };
  /** false: the same messages and faults did not break the rule again */
  readonly isRepeatable: boolean;
};

const TURNS_MAX = 1_000;
const NOT_REPEATABLE =
  'The same messages and faults did not break the rule again, so this history is not shortened. ' +
  'Effects, services and rules must use the time, randomness and I/O of the simulated world only.';

export async function failureOf(
  result: RunResult,
  run: Run,
  { before, isRepeatable }: Shortened,
): Promise<SimulationFailure> {
  const { seed, faults } = result;
  const { rule, why, at } = result.failure!;
  const events = [...result.events];
  const messages = events.flatMap((event) =>
    event.kind === 'send' && !event.name.endsWith('again') ? [event.message] : [],
  );
  const system = await run.reopened();
  const actors = [...new Set(events.flatMap((e) => (e.kind === 'turn' ? [e.actor] : [])))].sort();
  const settle = <T>(promise: Promise<T>) => settledIn(run, promise);
  const turns = await settle(turnsOf(system, actors));
  const history = events.map((event) => lineOf(event, turns));
  const sequence = sequenceOf(events, turns, `${rule}: ${why}`);
  const recordings = await settle(recordingsOf(system, actors));
  const replay: SimulationReplay = {
    format: 'troupe-simulation',
    version: 1,
    seed,
    rule,
    why,
    history,
    sequence,
    recordings,
    turns: actors.map((actor) => ({ actor, turns: turnsOfActor(turns, actor) })),
  };
  const text = [
    `seed ${seed} breaks the rule '${rule}' after ${at} ms: ${why}`,
    `shortest history: ${messages.length} of ${before.messages} messages, ${faults.length} of ${before.faults} faults`,
    ...history,
    ...(isRepeatable ? [] : [NOT_REPEATABLE]),
    `again: simulate({ ..., seed: ${seed} })`,
  ].join('\n');
  const files = { txt: text, mmd: sequence, json: JSON.stringify(replay, null, 2) };
  const save = (folder: string) => {
    mkdirSync(folder, { recursive: true });
    return Object.entries(files).map(([ending, content]) => {
      const path = join(folder, `simulation-${seed}.${ending}`);
      writeFileSync(path, `${content}\n`);
      return path;
    });
  };
  return {
    seed,
    rule,
    why,
    at,
    messages,
    faults,
    history,
    text,
    sequence,
    replay: files.json,
    save,
  };
}

/** Virtual time passes until the promise settles. */
async function settledIn<T>(run: Run, promise: Promise<T>): Promise<T> {
  let isSettled = false;
  const settle = () => void (isSettled = true);
  promise.then(settle, settle);
  await run.pass(() => isSettled);
  return promise;
}

/** By `actor turn`. */
type Turns = ReadonlyMap<string, ActorTurn>;

async function turnsOf(system: System, actors: readonly string[]): Promise<Turns> {
  const turns = new Map<string, ActorTurn>();
  for (const actor of actors) {
    const history = await system.actors.history(actor as Address, { limit: TURNS_MAX });
    for (const turn of history.turns) turns.set(`${actor} ${turn.turn}`, turn);
  }
  return turns;
}

const turnsOfActor = (turns: Turns, actor: string): ActorTurn[] =>
  [...turns]
    .flatMap(([key, turn]) => (key === `${actor} ${turn.turn}` ? [turn] : []))
    .toSorted((a, b) => a.turn - b.turn);

async function recordingsOf(system: System, actors: readonly string[]) {
  const recordings: (ActorRecording & { actor: string })[] = [];
  for (const actor of actors)
    recordings.push({ actor, ...(await system.actors.recording(actor as Address)) });
  return recordings;
}

const shownMs = (at: number): string => `${(at / 1_000).toFixed(3)} s`.padStart(12);

function lineOf(event: RunEvent, turns: Turns): string {
  const at = shownMs(event.at);
  switch (event.kind) {
    case 'send':
      return `${at}  client sends ${event.name} to ${event.message.to}: ${JSON.stringify(event.message.event)}`;
    case 'answer':
      return `${at}  answer to ${event.name}: ${event.answer}`;
    case 'turn':
      return `${at}  ${turnText(event, turns.get(`${event.actor} ${event.turn}`))}`;
    case 'effect':
      return `${at}  effect ${event.effect} of ${event.actor}, attempt ${event.attempt}: ${event.what}`;
    case 'fault':
      return `${at}  FAULT ${event.what}`;
    default:
      return `${at}  ${event.what}`;
  }
}

function turnText(event: RunEvent & { kind: 'turn' }, turn: ActorTurn | undefined): string {
  const { actor, value, result } = event;
  if (!turn) return `${actor} -> ${JSON.stringify(value)} (${result})`;
  const parts = [
    `${actor} takes ${turn.input}${turn.from === undefined ? '' : ` from ${turn.from}`}`,
    ...(value === undefined ? [] : [`-> ${JSON.stringify(value)}`]),
    ...(result === 'applied' ? [] : [`(${result}${turn.why ? `: ${turn.why}` : ''})`]),
    ...(turn.opened.length > 0 ? [`starts ${turn.opened.join(', ')}`] : []),
    ...turn.sent.map(({ to, type }) => `sends ${type} to ${to}`),
  ];
  return parts.join(', ');
}

/** A Mermaid sequence diagram. */
function sequenceOf(events: readonly RunEvent[], turns: Turns, failure: string): string {
  const names = new Map<string, string>([['client', 'client']]);
  const idOf = (actor: string): string => {
    if (!names.has(actor)) names.set(actor, `a${names.size}`);
    return names.get(actor)!;
  };
  const lines: string[] = [];
  const say = (line: string) => void lines.push(`  ${line}`);
  for (const event of events) {
    if (event.kind === 'send') {
      const { to, event: message } = event.message;
      say(`client->>${idOf(to)}: ${message.type}`);
    } else if (event.kind === 'answer') {
      say(`Note over client: ${words(event.answer)}`);
    } else if (event.kind === 'turn') {
      const self = idOf(event.actor);
      if (event.value !== undefined)
        say(`Note over ${self}: ${words(JSON.stringify(event.value))}`);
      for (const { to, type } of turns.get(`${event.actor} ${event.turn}`)?.sent ?? [])
        say(`${self}->>${idOf(to)}: ${words(type)}`);
    } else if (event.kind === 'effect') {
      const self = idOf(event.actor);
      say(`${self}-->>${self}: ${words(`${event.effect} ${event.what}`)}`);
    } else if (event.kind === 'fault') {
      say(`Note over client: FAULT ${words(event.what)}`);
    }
  }
  say(`Note over client: ${words(failure)}`);
  const participants = [...names].map(([name, id]) => `  participant ${id} as ${words(name)}`);
  return ['sequenceDiagram', ...participants, ...lines].join('\n');
}

const WORDS_MAX = 120;
/** What Mermaid reads as one label. */
const words = (text: string): string =>
  text
    .replaceAll(/[;#\r\n]+/g, ' ')
    .slice(0, WORDS_MAX)
    .trim();
