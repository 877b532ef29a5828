/**
 * Outputs: everything that an owner does with committed records (rules C1, D, G, H, I).
 */
import type { Scene } from './commit.ts';
import { appendSteps, build, emit, journalOf, named } from './commit.ts';
import { turnOfOutcome } from './turns.ts';
import type { Process, ShardState, World } from './world.ts';
import { fold, putMail, withProcess, withShard } from './world.ts';

const become = ({ world, shard, process }: Scene, change: Partial<Process>): World =>
  withProcess(world, shard, process.id, change);

/** All outputs of an owner without a pending append. */
export function outputSteps(scene: Scene): void {
  const { configuration, shard, process } = scene;
  if (shard === 0) {
    relaySteps(scene, process.state);
    effectSteps(scene);
    timerSteps(scene);
  }
  if (shard === configuration.snapshotShard) snapshotSteps(scene);
  if (configuration.trimMail) trimMailSteps(scene);
}

/** The outputs while an append has no answer: none of them belongs to the pending record (C1). */
export function outputStepsWhilePending(scene: Scene): void {
  const { configuration, world, shard, process } = scene;
  if (process.phase !== 'owning' || !process.pending) return;
  const { record } = process.pending;
  if (shard === 0 && configuration.relayWhilePending) relaySteps(scene, process.state);
  const ahead = fold(process.state, record.turns, record.outFloor);
  if (shard === 0 && configuration.mistake === 'relayBeforeCommit') relaySteps(scene, ahead);
  if (configuration.mistake === 'mailTrimmedToRead') {
    const { mail } = world.shards[shard];
    if (ahead.mailFloor <= mail.trimmedTo) return;
    const next = withShard(world, shard, { mail: { ...mail, trimmedTo: ahead.mailFloor } });
    emit(scene, 'T3', named(scene, 'trims the mailbox to what it has read'), next);
  }
}

// ---- D. relay

/** D2, W = 1: one flight, with any contiguous batch from the first unsettled item on. */
function relaySteps(scene: Scene, { outbox }: ShardState): void {
  const { configuration, process } = scene;
  if (configuration.atomicRelay) return;
  flightSteps(scene, outbox, process.settled);
  const ahead =
    configuration.mistake === 'answerIsDelivery' || configuration.mistake === 'acceptsAnyHigher';
  if (ahead && process.sentAhead > process.settled) flightSteps(scene, outbox, process.sentAhead);
}

function flightSteps(scene: Scene, outbox: ShardState['outbox'], after: number): void {
  const { world, process } = scene;
  const waiting = outbox.filter((item) => item.n > after);
  for (let count = 1; count <= waiting.length; count++) {
    const first = after + 1;
    const upTo = after + count;
    const bodies = waiting.slice(0, count).map((item) => item.body);
    const entry = { kind: 'links', first, bodies } as const;
    const label = `relays ${first}..${upTo}`;
    const sent = become(scene, { sentAhead: Math.max(process.sentAhead, upTo) });
    emit(
      scene,
      'D2',
      named(scene, `${label}: stored`),
      settle(putMail(sent, 1, entry), process.id, upTo),
    );
    if (world.faults.link === 0) continue;
    const fault = { ...sent, faults: { ...world.faults, link: world.faults.link - 1 } };
    const unanswered = putMail(fault, 1, entry);
    emit(scene, 'D3', named(scene, `${label}: stored, answer lost`), unanswered, 'fault');
    const late = { to: 'link', entry, sender: process.id, upTo } as const;
    const delayed = { ...fault, network: [...fault.network, late] };
    emit(scene, 'D3', named(scene, `${label}: delayed`), delayed, 'fault');
  }
}

/** D3: an answer settles the flight and all before it; with W = 1 those are settled already. */
export function settle(world: World, sender: number, upTo: number): World {
  const process = world.shards[0].processes.find(({ id }) => id === sender);
  if (process?.phase !== 'owning' || process.settled >= upTo) return world;
  return withProcess(world, 0, sender, { settled: upTo });
}

// ---- G. effects of class `once`

function effectSteps(scene: Scene): void {
  const { configuration, world, process } = scene;
  if (!configuration.onceBy) return;
  const { intent } = process.state;
  const stray = configuration.mistake === 'startNotRecorded' && intent.state === 'open';
  if (stray) strayStart(scene);
  else if (intent.state === 'open') {
    const started = { state: 'started', startedEpoch: process.epoch } as const;
    appendSteps(scene, 'G3', 'commits Start', build(scene, { turns: [{ intent: started }] }));
  }
  if (process.mayStart) {
    emit(scene, 'G3', named(scene, 'starts the effect'), begin(scene, { mayStart: false }));
  }
  if (intent.state === 'started' && intent.startedEpoch !== process.epoch) {
    if (configuration.mistake === 'startedIsRestarted') strayStart(scene);
    else {
      const unknown = { ...intent, state: 'unknown' } as const;
      appendSteps(scene, 'G4', 'commits UNKNOWN', build(scene, { turns: [{ intent: unknown }] }));
    }
  }
  if (intent.state === 'unknown' && world.choices.again > 0) tryAgain(scene);
  if (process.runner) runnerSteps(scene);
}

function begin(scene: Scene, change: Partial<Process>): World {
  const next = become(scene, { ...change, runner: true });
  return { ...next, effects: { ...next.effects, starts: next.effects.starts + 1 } };
}

function strayStart(scene: Scene): void {
  if (scene.process.strayed) return;
  const next = begin(scene, { strayed: true });
  emit(scene, 'G3', named(scene, 'starts the effect without a Start'), next);
}

function tryAgain(scene: Scene): void {
  const { world, process } = scene;
  const choices = { ...world.choices, again: world.choices.again - 1 };
  const intent = { ...process.state.intent, state: 'open' } as const;
  const record = build(scene, { turns: [{ intent, again: true }] });
  appendSteps({ ...scene, world: { ...world, choices } }, 'G5', 'commits again', record, 'choice');
}

function runnerSteps(scene: Scene): void {
  const done = putMail(become(scene, { runner: false }), 0, { kind: 'outcome' });
  emit(scene, 'G6', named(scene, 'runner reports'), done);
  if (scene.configuration.ownOutcomes) ownOutcomeSteps(scene);
  const { faults } = scene.world;
  if (faults.client === 0) return;
  const twice = putMail(done, 0, { kind: 'outcome' });
  const next = { ...twice, faults: { ...faults, client: faults.client - 1 } };
  emit(scene, 'G6', named(scene, 'runner reports twice'), next, 'fault');
}

/** G6: the record of its turn contains the outcome; the runner keeps it until the record counts. */
function ownOutcomeSteps(scene: Scene): void {
  const { world, process } = scene;
  const turn = turnOfOutcome(process.state, world.effects.again);
  if (turn.intent) appendSteps(scene, 'G6', 'commits the outcome', build(scene, { turns: [turn] }));
  else emit(scene, 'G6', named(scene, 'runner forgets'), become(scene, { runner: false }));
}

// ---- H. timers

function timerSteps(scene: Scene): void {
  const { configuration, process } = scene;
  if (process.state.timer !== 'armed') return;
  if (configuration.mistake === 'timerByMail') {
    if (process.strayed) return;
    const next = putMail(become(scene, { strayed: true }), 0, { kind: 'timer' });
    emit(scene, 'H2', named(scene, 'posts the timer to the mailbox'), next);
    return;
  }
  const record = build(scene, { turns: [{ timer: 'fired', applied: ['timer'] }] });
  appendSteps(scene, 'H2', 'commits the timer', record);
}

// ---- I. snapshot and trim

function snapshotSteps(scene: Scene): void {
  const { configuration, world, shard, process } = scene;
  const { mistake } = configuration;
  const blob = process.snapshot;
  if (world.choices.snapshot > 0 && !blob) {
    const snapshot = { covers: process.last, state: process.state, whole: false };
    const early = mistake === 'trimBeforePointer' ? { trimTo: process.last } : {};
    const begun = become(scene, { snapshot, ...early });
    const choices = { ...world.choices, snapshot: world.choices.snapshot - 1 };
    emit(scene, 'T1', named(scene, 'begins a snapshot'), { ...begun, choices }, 'choice');
  }
  if (blob && !blob.whole) {
    const next = become(scene, { snapshot: { ...blob, whole: true } });
    emit(scene, 'T1', named(scene, 'writes the blob to its end'), next);
  }
  if (blob && (blob.whole || mistake === 'pointerBeforeBlob')) {
    if (mistake === 'pointerOutsideJournal') pointElsewhere(scene);
    else {
      const record = build(scene, { kind: 'SNAPSHOT', snapshot: blob });
      appendSteps(scene, 'T1', 'commits the pointer', record);
    }
  }
  const journal = journalOf(scene);
  if (process.trimTo > journal.trimmedTo) {
    const trimmed = { journal: { ...journal, trimmedTo: process.trimTo } };
    emit(scene, 'T2', named(scene, 'trims the journal'), withShard(world, shard, trimmed));
  }
}

/**
 * Mistake `pointerOutsideJournal`: so the trim may empty the journal, which then reads as never
 * used.
 */
function pointElsewhere(scene: Scene): void {
  const { world, shard, process } = scene;
  const pointed = withShard(world, shard, {
    journal: { ...journalOf(scene), pointer: process.snapshot },
  });
  const trimTo = process.snapshot?.covers ?? 0;
  const next = withProcess(pointed, shard, process.id, { snapshot: null, trimTo });
  emit(scene, 'T1', named(scene, 'writes the pointer beside the journal'), next);
}

function trimMailSteps(scene: Scene): void {
  const { world, shard, process } = scene;
  const { mail } = world.shards[shard];
  if (process.state.mailFloor <= mail.trimmedTo) return;
  const trimmed = { mail: { ...mail, trimmedTo: process.state.mailFloor } };
  emit(scene, 'T3', named(scene, 'trims the mailbox'), withShard(world, shard, trimmed));
}
