/** The rows of the tree of actors: types, and below each open type its actors. Pure. */
import { activeLeaves } from '../../charts/chart.ts';
import type { ActorSummary } from '../../protocols/actor-view.ts';
import { NO_RATES, type Rates } from './rates.ts';

export type TypeRow = {
  readonly kind: 'type';
  readonly type: string;
  readonly count: number;
  readonly isOpen: boolean;
  /** those that an operator should look at */
  readonly troubled: number;
  /** events a minute of all of them */
  readonly perMinute: number;
  /** messages that wait in the busiest of their shards; `?`: it is unknown for one of them */
  readonly lag: number | '?';
};
export type ActorRow = {
  readonly kind: 'actor';
  readonly actor: ActorSummary;
  readonly position: number;
  readonly of: number;
  readonly perMinute: number;
};
export type TreeRow = TypeRow | ActorRow;

export type Filter = {
  /** each word occurs in the address, the status or the state */
  readonly text: string;
  readonly type: string;
  readonly status: string;
};

/** Types with more actors begin closed. */
const OPEN_MAX = 30;

export const typeOf = ({ actor }: Pick<ActorSummary, 'actor'>): string =>
  actor.split('/', 2)[1] ?? '';
/** The part of an address that differs within its type. */
export const keyOf = (address: string): string => address.split('/').slice(2).join('/');

/** The active states without those that contain others: `running.working.thinking`. */
export const stateText = (value: unknown): string => activeLeaves(value).join(', ');

/** The same with the last key of each: `thinking`. */
export const shortState = (value: unknown): string =>
  stateText(value)
    .split(', ')
    .map((path) => path.split('.').at(-1))
    .join(', ');

export const isTroubled = ({ status }: Pick<ActorSummary, 'status'>): boolean =>
  status === 'suspended' || status === 'quarantined';

export function filtered(actors: readonly ActorSummary[], filter: Filter): readonly ActorSummary[] {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0 && !filter.type && !filter.status) return actors;
  return actors.filter((each) => {
    if (filter.type && typeOf(each) !== filter.type) return false;
    if (filter.status && each.status !== filter.status) return false;
    if (words.length === 0) return true;
    const text = `${each.actor} ${each.status} ${stateText(each.state)}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** @param toggled types whose state is not their default */
export function rowsOf(
  actors: readonly ActorSummary[],
  toggled: ReadonlySet<string>,
  opensAll: boolean,
  perMinute: Rates['perMinute'] = NO_RATES.perMinute,
): readonly TreeRow[] {
  const types = new Map<string, ActorSummary[]>();
  for (const actor of actors) {
    const group = types.get(typeOf(actor));
    if (group) group.push(actor);
    else types.set(typeOf(actor), [actor]);
  }
  return [...types].flatMap(([type, group]): TreeRow[] => {
    const isOpen = (opensAll || group.length <= OPEN_MAX) !== toggled.has(type);
    const troubled = group.filter(isTroubled).length;
    const head: TypeRow = {
      kind: 'type',
      type,
      count: group.length,
      isOpen,
      troubled,
      perMinute: group.reduce((sum, { actor }) => sum + (perMinute.get(actor) ?? 0), 0),
      lag: group.reduce<number | '?'>(
        (most, { shardLag, shardLagUnknown }) =>
          most === '?' || shardLagUnknown ? '?' : Math.max(most, shardLag),
        0,
      ),
    };
    if (!isOpen) return [head];
    return [
      head,
      ...group.map(
        (actor, n): ActorRow => ({
          kind: 'actor',
          actor,
          position: n + 1,
          of: group.length,
          perMinute: perMinute.get(actor.actor) ?? 0,
        }),
      ),
    ];
  });
}
