/** Shows turns that are kept in the form of those that operators watch live. */
import type { ActorTurn, ActorTurnDetail } from '../../protocols/actor-view.ts';
import { defined } from '../../protocols/defined.ts';
import type { Registry } from '../actor/registry.ts';
import { unknownInput } from '../inspect/turn-sources.ts';
import { timerName } from '../statechart/facts.ts';
import { decodeActorRow, PendingRow } from '../shard/turn/actor-row.ts';
import { decodeIntent } from '../shard/turn/intents.ts';
import type { TurnSource } from '../shard/turn/turn-source.ts';
import { TABLE } from '../shard/commit/fold.ts';
import type { FullTurn } from './full-turns.ts';
import { type EffectName, receiverName, type TurnSummary } from './summary.ts';

type Definitions = Pick<Registry, 'exact'>;

/**
 * @param turns newest first; @param older turns right before them, for what those do not say alone
 */
export function showTurns(
  turns: readonly TurnSummary[],
  older: readonly TurnSummary[],
  registry: Definitions,
): ActorTurn[] {
  const effects = new Map<string, string>();
  let before: unknown;
  const shown: ActorTurn[] = [];
  for (const turn of [...turns, ...older].toReversed()) {
    for (const { id, effect } of turn.opened) if (effect) effects.set(id, effect);
    shown.push(show(turn, before, { registry, effects }));
    before = turn.state ?? before;
  }
  return shown.slice(older.length).toReversed();
}

type Known = { readonly registry: Definitions; readonly effects: ReadonlyMap<string, string> };

function show(turn: TurnSummary, before: unknown, { registry, effects }: Known): ActorTurn {
  const { turn: number, at, from, result, why, state, status, sent, opened, ended } = turn;
  const nameOf = ({ id, effect }: EffectName) => effect ?? effects.get(id) ?? 'an effect';
  return {
    turn: number,
    at,
    input: inputOf(turn, registry),
    ...defined({ event: eventOf(turn), from }),
    result,
    ...defined({ why, before, state, status }),
    sent,
    opened: opened.map(nameOf),
    ended: ended.map(nameOf),
  };
}

function inputOf({ kind, name, machine }: TurnSummary, registry: Definitions): string {
  switch (kind) {
    case 'message':
    case 'event':
      return name;
    case 'timer': {
      const known = registry.exact(machine)?.machine;
      return `timer ${(known && timerName(known, name)) ?? name}`;
    }
    case 'unknown':
      return unknownInput(name);
    default:
      return `outcome of ${name === '' ? 'an effect' : name}: ${kind}`;
  }
}

function eventOf({ kind, name, job }: TurnSummary): string | undefined {
  if (kind === 'message' || kind === 'event') return name;
  if (kind === 'done' && job) return `xstate.done.actor.${job}`;
  if (kind === 'failed' && job) return `xstate.error.actor.${job}`;
  return kind === 'timer' && name.startsWith('xstate.after.') ? name : undefined;
}

/** What only the bodies of a turn say. */
export function detailOf(
  { turn }: FullTurn,
  withContext: boolean,
): Omit<ActorTurnDetail, keyof ActorTurn> & Pick<ActorTurn, 'context'> {
  const intents = turn.puts.filter(([table, , value]) => table === TABLE.intent && value !== null);
  const put = turn.puts.find(([table, key]) => table === TABLE.actor && key === turn.actor);
  return {
    ...defined({ body: bodyOf(turn.source) }),
    messages: turn.out.map(([target, , , { to, event }]) => ({
      to: receiverName(target, to),
      event,
    })),
    requests: intents.map(([, , value]) => {
      const { src: effect, input } = decodeIntent(value as Uint8Array);
      return { effect, input };
    }),
    ...(withContext && put?.[2] ? { context: contextOf(put[2]) } : {}),
  };
}

const contextOf = (row: Uint8Array | PendingRow): unknown =>
  (row instanceof PendingRow ? row.row : decodeActorRow(row)).row.snap.c;

function bodyOf(source: TurnSource | undefined): unknown {
  switch (source?.kind) {
    case 'message':
      return source.item.event;
    case 'event':
      return source.event;
    case 'outcome':
      return source.outcome;
    default:
      return undefined;
  }
}
