/**
 * Protocol: the model of a shard's commit protocol (docs/commit-protocol.md), for exhaustive
 * search.
 *
 * Steps are taken by clients, the network, effect runners without an owner, and the processes of
 * each shard. Every step has the id of the rule that it exercises. The rules themselves are in
 * commit.ts (A, C), turns.ts (B, E, F) and outputs.ts (D, G, H, I); a configuration says which
 * faults may happen and which rule is broken.
 *
 * Not modelled: replies, the control lane, stashes, the crash-loop guard, parking, the spawn
 * ledger, HANDOFF, more than two processes that consider themselves owner of a shard, loss of
 * stored records.
 */
import type { Scene } from './commit.ts';
import {
  appendSteps,
  arrivals,
  build,
  emit,
  giveUp,
  load,
  named,
  pendingSteps,
  visibleLast,
} from './commit.ts';
import type { Configuration } from './configurations.ts';
import type { Model, Step } from './explore.ts';
import { atRest, firstBroken, inEveryState } from './invariants.ts';
import { outputSteps, outputStepsWhilePending, settle } from './outputs.ts';
import { turnSteps } from './turns.ts';
import type { Delayed, Journal, Process, Shard, ShardIndex, World } from './world.ts';
import { emptyState, Identifier, newProcess, putMail, withProcess, withShard } from './world.ts';

type Stage = {
  readonly configuration: Configuration;
  readonly steps: Step<World>[];
  readonly world: World;
};

export function commitProtocol(configuration: Configuration): Model<World> {
  const { faults, choices } = configuration;
  const identifier = new Identifier(choices.snapshot > 0 || faults.fenceLeak > 0);
  return {
    initial: () => initialWorld(configuration),
    steps: (world) => stepsOf({ configuration, world, steps: [] }),
    identify: (world) => identifier.identify(world),
    check: (world) => firstBroken(inEveryState, world, configuration),
    checkAtRest: (world) => firstBroken(atRest, world, configuration),
  };
}

function stepsOf(stage: Stage): readonly Step<World>[] {
  clientSteps(stage);
  networkSteps(stage);
  orphanSteps(stage);
  for (const shard of [0, 1] as const) {
    takeOverSteps(stage, shard);
    for (const process of stage.world.shards[shard].processes) {
      processSteps({ ...stage, shard, process });
    }
  }
  return stage.steps;
}

// ---- the initial world

function initialWorld({ clients, faults, choices, cold }: Configuration): World {
  const shards = [cold ? coldShard : ownedShard(0), cold ? coldShard : ownedShard(1)] as const;
  const messages = clients.flat().map((message) => [message, 'unsent'] as const);
  return {
    shards,
    network: [],
    clients: Object.fromEntries(messages),
    effects: { starts: 0, again: 0, orphans: 0 },
    faults,
    choices,
    nextProcess: 2,
  };
}

const emptyJournal: Journal = {
  stored: [],
  last: 0,
  trimmedTo: 0,
  pointer: null,
  committed: emptyState,
  sentEver: [],
  builtOnLess: '',
};

const coldShard: Shard = {
  mail: { entries: [], trimmedTo: 0 },
  journal: emptyJournal,
  processes: [],
  seenEarly: [],
};

function ownedShard(id: number): Shard {
  const record = {
    recId: `p${id}.0.EPOCH`,
    kind: 'EPOCH',
    prev: 0,
    turns: [],
    outFloor: 0,
    snapshot: null,
    builtOn: emptyState,
  } as const;
  const owner: Process = { ...newProcess(id), phase: 'owning', epoch: 1, last: 1 };
  const stored = [{ position: 1, record, counts: true }];
  return { ...coldShard, journal: { ...emptyJournal, stored, last: 1 }, processes: [owner] };
}

// ---- F. clients

/**
 * F1, F2: an entry point appends a client's messages one after the other, and repeats each until it
 * is answered.
 */
function clientSteps(stage: Stage): void {
  const { world, configuration } = stage;
  for (const row of configuration.clients) {
    const key = row.find((message) => world.clients[message] !== 'accepted');
    if (key === undefined) continue;
    const entry = { kind: 'client', key } as const;
    const accepted = { ...world, clients: { ...world.clients, [key]: 'accepted' as const } };
    emit(stage, 'F1', `client sends ${key}: stored`, putMail(accepted, 0, entry));
    if (world.faults.client === 0) continue;
    const trying: World = {
      ...world,
      clients: { ...world.clients, [key]: 'trying' },
      faults: { ...world.faults, client: world.faults.client - 1 },
    };
    emit(
      stage,
      'F1',
      `client sends ${key}: stored, answer lost`,
      putMail(trying, 0, entry),
      'fault',
    );
    const late = { to: 'mail', shard: 0, entry } as const;
    const delayed = { ...trying, network: [...trying.network, late] };
    emit(stage, 'F1', `client sends ${key}: delayed`, delayed, 'fault');
  }
}

// ---- P1. the network: an append without an answer arrives later, or never

function networkSteps(stage: Stage): void {
  stage.world.network.forEach((append, index) => {
    const network = stage.world.network.filter((_, other) => other !== index);
    const world = { ...stage.world, network };
    emit(stage, 'P1', `a delayed ${describe(append)} is lost`, world, 'fault');
    arrive(stage, world, append);
  });
}

function describe(append: Delayed): string {
  return append.to === 'journal' ? `record ${append.record.recId}` : `${append.to} entry`;
}

function arrive(stage: Stage, world: World, append: Delayed): void {
  const label = `a delayed ${describe(append)} arrives`;
  switch (append.to) {
    case 'journal':
      for (const outcome of arrivals(stage.configuration, world, append.shard, append.record)) {
        emit(stage, 'P1', label, outcome.world, outcome.leaked ? 'fault' : 'progress');
      }
      break;
    case 'mail':
      emit(stage, 'P1', label, putMail(world, append.shard, append.entry));
      break;
    case 'link': {
      const unanswered = putMail(world, 1, append.entry);
      emit(stage, 'P1', `${label}, its answer does not`, unanswered, 'fault');
      emit(stage, 'P1', label, settle(unanswered, append.sender, append.upTo));
    }
  }
}

// ---- A. owners

/** A1: any process may try at any time. It is progress if the shard has no other process. */
function takeOverSteps(stage: Stage, shard: ShardIndex): void {
  const { world } = stage;
  const { processes } = world.shards[shard];
  const vacant = processes.length === 0;
  if (!vacant && (processes.length === 2 || world.faults.takeOver[shard] === 0)) return;
  const [first, second] = world.faults.takeOver;
  const takeOver = shard === 0 ? ([first - 1, second] as const) : ([first, second - 1] as const);
  const joined = withShard(world, shard, {
    processes: [...processes, newProcess(world.nextProcess)],
  });
  const next = {
    ...joined,
    nextProcess: world.nextProcess + 1,
    faults: vacant ? world.faults : { ...world.faults, takeOver },
  };
  const label = `shard ${shard} p${world.nextProcess} begins to take over`;
  emit(stage, 'A1', label, next, vacant ? 'progress' : 'fault');
}

function processSteps(scene: Scene): void {
  const { world, shard, process } = scene;
  if (world.faults.crash > 0) {
    const faults = { ...world.faults, crash: world.faults.crash - 1 };
    const next = withProcess({ ...world, faults }, shard, process.id, null);
    emit(scene, 'fault', named(scene, 'crashes'), next, 'fault');
  }
  if (process.phase === 'loading') loadSteps(scene);
  else if (process.pending) {
    pendingSteps(scene, process.pending.record);
    outputStepsWhilePending(scene);
  } else if (process.phase === 'claiming') {
    appendSteps(scene, 'A3', 'commits EPOCH', build(scene, { kind: 'EPOCH' }));
  } else {
    probeSteps(scene);
    turnSteps(scene);
    outputSteps(scene);
  }
}

/** A2: pointer and tail are read one after the other; a trim may come between. */
function loadSteps(scene: Scene): void {
  const { configuration, world, shard, process } = scene;
  const { journal } = world.shards[shard];
  if (process.pointer === undefined && configuration.choices.snapshot > 0) {
    const next = withProcess(world, shard, process.id, { pointer: journal.pointer });
    emit(scene, 'A2', named(scene, 'reads the pointer'), next);
    return;
  }
  const state = load(configuration, journal, process.pointer ?? null);
  if (state === 'hole') {
    const next = withProcess(world, shard, process.id, { pointer: undefined });
    emit(scene, 'A2', named(scene, 'finds a hole and starts again'), next);
    return;
  }
  const loaded = {
    phase: 'claiming',
    state,
    last: visibleLast(journal),
    pointer: undefined,
  } as const;
  const next = withProcess(world, shard, process.id, loaded);
  emit(scene, 'A2', named(scene, 'reads the journal'), next);
}

/**
 * A7: an owner reads the journal's last record periodically, even when it has nothing to append.
 */
function probeSteps(scene: Scene): void {
  const { configuration, world, shard, process } = scene;
  if (configuration.mistake === 'noIdleProbe') return;
  if (visibleLast(world.shards[shard].journal) === process.last) return;
  emit(scene, 'A7', named(scene, 'finds the record of another owner'), giveUp(scene));
}

/** A4, G6: a runner whose owner was replaced continues and reports to the mailbox. */
function orphanSteps(stage: Stage): void {
  const { effects } = stage.world;
  if (effects.orphans === 0) return;
  const world = { ...stage.world, effects: { ...effects, orphans: effects.orphans - 1 } };
  emit(stage, 'G6', 'a runner without an owner reports', putMail(world, 0, { kind: 'outcome' }));
}
