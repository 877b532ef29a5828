/**
 * Turns: the mailbox is read in order, and every entry becomes exactly one Turn (rules B1, B2, E1,
 * E4, F3, H2).
 */
import type { Scene } from './commit.ts';
import { appendSteps, build } from './commit.ts';
import type { Configuration } from './configurations.ts';
import type { ClientMessage, MailEntry, ShardState, Turn, World } from './world.ts';
import { fold, withShard } from './world.ts';

/** Processes the next one to `groupMax` mailbox entries in one record. */
export function turnSteps(scene: Scene): void {
  const { configuration, world, shard, process } = scene;
  const { entries, trimmedTo } = world.shards[shard].mail;
  const from = Math.max(process.state.mailFloor, trimmedTo);
  const unread = entries.length - from;
  for (let count = 1; count <= Math.min(configuration.groupMax, unread); count++) {
    const group = entries.slice(from, from + count);
    const { world: noted, alreadySeen } = noteEarly(scene, group);
    const turns = turnsOf(scene, group, from, alreadySeen);
    const record = build(scene, {
      turns: floorAtReadPosition(configuration, turns, entries.length),
    });
    const what = `commits ${group.map(describe).join(' and ')}`;
    appendSteps({ ...scene, world: noted }, ruleOf(group), what, record);
  }
}

const ruleOf = (group: readonly MailEntry[]): string =>
  ({ client: 'F3', links: 'E1', outcome: 'E4', timer: 'H2' })[group[0]?.kind ?? 'client'];

function describe(entry: MailEntry): string {
  if (entry.kind === 'client') return entry.key;
  return entry.kind === 'links' ? `links ${entry.first}+${entry.bodies.length}` : entry.kind;
}

function turnsOf(
  { configuration, world, process }: Scene,
  group: readonly MailEntry[],
  from: number,
  alreadySeen: ReadonlySet<ClientMessage>,
): Turn[] {
  const turns: Turn[] = [];
  let state = process.state;
  group.forEach((entry, index) => {
    const turn = {
      ...turnOf(configuration, state, entry, process.epoch, alreadySeen, world.effects.again),
      mailFloor: from + index + 1,
    };
    turns.push(turn);
    state = fold(state, [turn], state.outFloor);
  });
  return turns;
}

function turnOf(
  configuration: Configuration,
  state: ShardState,
  entry: MailEntry,
  epoch: number,
  alreadySeen: ReadonlySet<ClientMessage>,
  againEver: number,
): Turn {
  switch (entry.kind) {
    case 'client':
      return alreadySeen.has(entry.key) ? {} : turnOfClient(configuration, state, entry.key, epoch);
    case 'links':
      return turnOfLinks(configuration, state, entry.first, entry.bodies);
    case 'outcome':
      return turnOfOutcome(state, againEver);
    case 'timer':
      return { timer: 'fired', applied: ['timer'] };
  }
}

/** E4: closes the intent, also one that is unknown or will be tried again. */
export function turnOfOutcome({ intent }: ShardState, againEver: number): Turn {
  const isOpen = intent.state === 'open' && againEver > 0;
  return ['started', 'unknown'].includes(intent.state) || isOpen
    ? { intent: { ...intent, state: 'closed' } }
    : {};
}

/** F3: a known key causes no turn of the machine. */
function turnOfClient(
  { mistake, onceBy, timerBy }: Configuration,
  state: ShardState,
  key: ClientMessage,
  epoch: number,
): Turn {
  if (state.keys.includes(key) && mistake !== 'noKeyDedupe') return {};
  return {
    key,
    applied: [key],
    sent: { n: state.linkNext, body: `${key}@${epoch}` }, // D1
    ...(key === onceBy && { intent: { state: 'open', startedEpoch: 0 } as const }),
    ...(key === timerBy && { timer: 'armed' as const }),
  };
}

/**
 * E1: accepts items above the highest accepted number, skips the others, and drops a flight that
 * leaves a gap.
 */
function turnOfLinks(
  { mistake }: Configuration,
  state: ShardState,
  first: number,
  bodies: readonly string[],
): Turn {
  const last = first + bodies.length - 1;
  if (mistake === 'noLinkDedupe') return { applied: bodies, linkIn: Math.max(last, state.linkIn) };
  const gap = first > state.linkIn + 1;
  if (gap && mistake !== 'acceptsAnyHigher') return {};
  if (last <= state.linkIn) return {};
  if (mistake === 'flightSkippedByFirst' && first <= state.linkIn) return {};
  return { applied: bodies.slice(Math.max(0, state.linkIn + 1 - first)), linkIn: last };
}

/** Mistake `dedupeBeforeCommit`: keys are remembered beside the fold as soon as they are read. */
function noteEarly(
  { configuration, world, shard }: Scene,
  group: readonly MailEntry[],
): { readonly world: World; readonly alreadySeen: ReadonlySet<ClientMessage> } {
  if (configuration.mistake !== 'dedupeBeforeCommit') return { world, alreadySeen: new Set() };
  const { seenEarly } = world.shards[shard];
  const keys = group.flatMap((entry) => (entry.kind === 'client' ? [entry.key] : []));
  const noted = [...new Set([...seenEarly, ...keys])].sort();
  return {
    world: withShard(world, shard, { seenEarly: noted }),
    alreadySeen: new Set(seenEarly),
  };
}

/**
 * Mistake `floorIsReadPosition`: the floor in the record is the last position read, not the last
 * position processed.
 */
function floorAtReadPosition({ mistake }: Configuration, turns: Turn[], readTo: number): Turn[] {
  if (mistake !== 'floorIsReadPosition') return turns;
  return turns.map((turn, index) =>
    index === turns.length - 1 ? { ...turn, mailFloor: readTo } : turn,
  );
}
