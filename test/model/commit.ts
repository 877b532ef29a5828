/**
 * Commit: the log with its fence, and what an owner does with the log's answer (rules C1 to C5, A2
 * to A4).
 *
 * Building a record and sending it are one step here. The record depends only on the owner's own
 * state and on mail that never changes. Therefore building it earlier would add no behaviour.
 */
import type { Step } from './explore.ts';
import type { Configuration } from './configurations.ts';
import type {
  Journal,
  JournalRecord,
  Process,
  ShardIndex,
  ShardState,
  Snapshot,
  Turn,
  World,
} from './world.ts';
import { emptyState, fold, putMail, withProcess, withShard } from './world.ts';

/** A process of a shard in a world, and the steps found so far. */
export type Scene = {
  readonly configuration: Configuration;
  readonly steps: Step<World>[];
  readonly world: World;
  readonly shard: ShardIndex;
  readonly process: Process;
};

export type Kind = 'progress' | 'fault' | 'choice';

export function emit(
  scene: Pick<Scene, 'steps'>,
  rule: string,
  label: string,
  next: World,
  kind: Kind = 'progress',
): void {
  scene.steps.push({ rule, label, next, progress: kind === 'progress' });
}

export const journalOf = ({ world, shard }: Pick<Scene, 'world' | 'shard'>): Journal =>
  world.shards[shard].journal;

export const named = ({ shard, process }: Scene, what: string): string =>
  `shard ${shard} p${process.id} ${what}`;

/** The last position of the subject that the log returns; 0 if nothing is stored. */
export function visibleLast({ last, trimmedTo }: Journal): number {
  return trimmedTo >= last ? 0 : last;
}

// ---- the log

/**
 * The log receives an append: it stores the record if the expectation holds, otherwise it refuses.
 * With a leaking fence it may also store it directly after another record with the same
 * expectation: two possible results.
 */
export function arrivals(
  configuration: Configuration,
  world: World,
  shard: ShardIndex,
  record: JournalRecord,
): { readonly world: World; readonly stored: boolean; readonly leaked: boolean }[] {
  const { journal } = world.shards[shard];
  const expected = record.prev === visibleLast(journal);
  if (expected || configuration.mistake === 'noFence') {
    return [{ world: store(configuration, world, shard, record), stored: true, leaked: false }];
  }
  const outcomes = [{ world, stored: false, leaked: false }];
  const { faults } = world;
  if (faults.fenceLeak > 0 && journal.stored.at(-1)?.record.prev === record.prev) {
    const leaky = { ...world, faults: { ...faults, fenceLeak: faults.fenceLeak - 1 } };
    const leakedTo = store(configuration, leaky, shard, record);
    outcomes.push({ world: leakedTo, stored: true, leaked: true });
  }
  return outcomes;
}

function store(
  configuration: Configuration,
  world: World,
  shard: ShardIndex,
  record: JournalRecord,
): World {
  const { journal } = world.shards[shard];
  const position = journal.last + 1;
  // C4: the position of the previous stored record decides, so every reader decides the same
  const counts = record.prev === visibleLast(journal) || configuration.mistake === 'noChainRule';
  const stored = [...journal.stored, { position, record, counts }];
  if (!counts) return withShard(world, shard, { journal: { ...journal, stored, last: position } });

  const bodies = record.turns.flatMap((turn) => (turn.sent ? [turn.sent.body] : []));
  const onAll = JSON.stringify(record.builtOn) === JSON.stringify(journal.committed);
  const next = withShard(world, shard, {
    journal: {
      ...journal,
      stored,
      last: position,
      pointer: record.snapshot ?? journal.pointer,
      committed: fold(journal.committed, record.turns, record.outFloor),
      sentEver: [...journal.sentEver, ...bodies],
      builtOnLess: onAll ? journal.builtOnLess : record.recId,
    },
  });
  return relayedWith(configuration, countAgain(next, record), record, bodies);
}

function countAgain(world: World, { turns }: JournalRecord): World {
  const decisions = turns.filter((turn) => turn.again).length;
  const { effects } = world;
  return decisions === 0
    ? world
    : { ...world, effects: { ...effects, again: effects.again + decisions } };
}

/** Embedded: the link entries of a record are stored in its transaction. */
function relayedWith(
  { atomicRelay }: Configuration,
  world: World,
  { turns }: JournalRecord,
  bodies: readonly string[],
): World {
  const first = turns.find((turn) => turn.sent)?.sent?.n;
  if (!atomicRelay || first === undefined) return world;
  return putMail(world, 1, { kind: 'links', first, bodies });
}

// ---- the owner

type Content = {
  readonly kind?: JournalRecord['kind'];
  readonly turns?: readonly Turn[];
  readonly snapshot?: Snapshot;
};

/**
 * The next record of a process. Each built record has a new id, which every resend keeps.
 */
export function build({ configuration, process }: Scene, content: Content): JournalRecord {
  const { kind = 'TURNS', turns = [], snapshot = null } = content;
  const lastSent = turns.findLast((turn) => turn.sent)?.sent?.n;
  const settled = configuration.atomicRelay ? (lastSent ?? process.settled) : process.settled;
  return {
    recId: `p${process.id}.${process.last}${'*'.repeat(process.rebuilds)}.${kind}`,
    kind,
    prev: process.last,
    turns,
    outFloor: kind === 'EPOCH' ? process.state.outFloor : settled,
    snapshot,
    builtOn: process.state,
  };
}

/** Appends a record: answered (stored or refused), or without an answer. */
export function appendSteps(
  scene: Scene,
  rule: string,
  what: string,
  record: JournalRecord,
  kind: Kind = 'progress',
): void {
  const { configuration, world, shard, process } = scene;
  for (const { world: arrived, stored, leaked } of arrivals(configuration, world, shard, record)) {
    const there = { ...scene, world: arrived };
    if (stored) {
      const label = named(scene, `${what}: ${leaked ? 'passes the fence' : 'stored'}`);
      emit(scene, rule, label, afterStored(there, record), leaked ? 'fault' : kind);
    } else if (isMine(there, record)) {
      const label = named(scene, `${what}: refused, an earlier copy is stored`);
      emit(scene, 'C3', label, learnCommitted(there, record));
    } else emit(scene, 'A4', named(scene, `${what}: refused`), afterRefused(there, record), kind);
  }
  if (world.faults.unknown === 0) return;
  const lost = {
    ...world,
    faults: { ...world.faults, unknown: world.faults.unknown - 1 },
    network: [...world.network, { to: 'journal', shard, record } as const],
  };
  const pending = { record, ask: 'read back' } as const;
  const next = withProcess(lost, shard, process.id, { pending });
  emit(scene, 'P1', named(scene, `${what}: no answer`), next, 'fault');
}

/** C3: the last record is this one, and C5 agrees. */
function isMine(scene: Scene, record: JournalRecord): boolean {
  const last = journalOf(scene).stored.at(-1)?.record;
  return last?.recId === record.recId && isFirstAfterPrev(scene, record);
}

/**
 * C5: the first record stored after `prev` is the one that counts. Checked only where the fence may
 * leak.
 */
function isFirstAfterPrev(scene: Scene, record: JournalRecord): boolean {
  const { configuration } = scene;
  if (configuration.faults.fenceLeak === 0 || configuration.mistake === 'answerTrusted')
    return true;
  const { stored } = journalOf(scene);
  const first = stored.find(({ position }) => position > record.prev);
  return first?.record.recId === record.recId;
}

function afterStored(scene: Scene, record: JournalRecord): World {
  return isFirstAfterPrev(scene, record) ? learnCommitted(scene, record) : giveUp(scene);
}

/** A4: the journal has the record of another owner. */
function afterRefused(scene: Scene, record: JournalRecord): World {
  const { configuration, world, shard, process } = scene;
  if (configuration.mistake === 'refusedSentAgain' && process.phase === 'owning') {
    const rebased = { ...record, prev: journalOf(scene).last, recId: `${record.recId}'` };
    return withProcess(world, shard, process.id, { pending: { record: rebased, ask: 'resend' } });
  }
  return giveUp(scene);
}

/** C3: the answer to an append is unknown. */
export function pendingSteps(scene: Scene, record: JournalRecord): void {
  const { configuration, world, shard, process } = scene;
  if (process.pending?.ask === 'resend') {
    appendSteps(scene, 'C3', `sends ${record.kind} again`, record);
    return;
  }
  if (isMine(scene, record) || configuration.mistake === 'unknownIsCommitted') {
    const next = learnCommitted(scene, record);
    emit(scene, 'C3', named(scene, `reads back its ${record.kind}: committed`), next);
  } else if (rebuilds(configuration) && process.phase === 'owning') {
    const rebuilt = process.rebuilds + (configuration.mistake === 'unknownIsRebuilt' ? 1 : 0);
    const next = withProcess(world, shard, process.id, { pending: null, rebuilds: rebuilt });
    emit(scene, 'C3', named(scene, `considers its ${record.kind} failed`), next);
  } else if (visibleLast(journalOf(scene)) === record.prev) {
    const next = withProcess(world, shard, process.id, { pending: { record, ask: 'resend' } });
    emit(scene, 'C3', named(scene, `reads back: ${record.kind} not stored yet`), next);
  } else {
    emit(scene, 'A4', named(scene, 'reads back the record of another owner'), giveUp(scene));
  }
}

const rebuilds = ({ mistake }: Configuration): boolean =>
  mistake === 'unknownIsRebuilt' || mistake === 'rebuiltUnderOneId';

function learnCommitted(scene: Scene, record: JournalRecord): World {
  const { configuration, world, shard, process } = scene;
  const state = fold(process.state, record.turns, record.outFloor);
  const last = visibleLast(journalOf(scene));
  const started = record.turns.some((turn) => turn.intent?.state === 'started');
  const common = { state, last, pending: null, rebuilds: 0 };
  switch (record.kind) {
    case 'EPOCH': // A5: relay starts behind the items that are settled according to the fold
      return withProcess(world, shard, process.id, {
        ...common,
        phase: 'owning',
        epoch: last,
        settled:
          configuration.mistake === 'settledAtTakeOver' ? state.linkNext - 1 : state.outFloor,
      });
    case 'SNAPSHOT':
      return withProcess(world, shard, process.id, {
        ...common,
        snapshot: null,
        trimTo: record.snapshot?.covers ?? 0,
      });
    case 'TURNS':
      return withProcess(world, shard, process.id, {
        ...common,
        settled: Math.max(process.settled, state.outFloor),
        mayStart: process.mayStart || started,
      });
  }
}

/**
 * A4: drops everything. A candidate (A3) reads the new records and tries again; a started runner
 * continues.
 */
export function giveUp({ world, shard, process }: Scene): World {
  if (process.phase === 'claiming') {
    return withProcess(world, shard, process.id, {
      phase: 'loading',
      pending: null,
      pointer: undefined,
      state: emptyState,
    });
  }
  const { effects } = world;
  const orphans = effects.orphans + (process.runner ? 1 : 0);
  return withProcess({ ...world, effects: { ...effects, orphans } }, shard, process.id, null);
}

// ---- loading

/**
 * A2: the blob of the pointer, then the tail behind it. `hole`: the journal was trimmed during the
 * read.
 */
export function load(
  { mistake }: Configuration,
  journal: Journal,
  pointer: Snapshot | null,
): ShardState | 'hole' {
  const covers = pointer?.covers ?? 0;
  if (journal.trimmedTo > covers && mistake !== 'holeIgnored') return 'hole';
  let state = pointer?.state ?? emptyState;
  if (mistake === 'outboxNotInSnapshot') {
    state = { ...state, outbox: [], outFloor: state.linkNext - 1 };
  }
  for (const { position, record, counts } of journal.stored) {
    if (position <= covers || position <= journal.trimmedTo || !counts) continue;
    state = fold(state, record.turns, record.outFloor);
  }
  return state;
}
