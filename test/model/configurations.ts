/**
 * Configurations: the small systems that are searched completely. Each bounds the faults that may
 * happen in one run; within the bounds every interleaving is visited.
 */
import type { Choices, ClientMessage, Faults, ShardIndex } from './world.ts';

/** Rules that can be broken on purpose; mutants.ts says what each does. */
export type Mistake =
  | 'noFence'
  | 'noChainRule'
  | 'answerTrusted'
  | 'dedupeBeforeCommit'
  | 'trimBeforePointer'
  | 'pointerBeforeBlob'
  | 'pointerOutsideJournal'
  | 'relayBeforeCommit'
  | 'floorIsReadPosition'
  | 'outboxNotInSnapshot'
  | 'answerIsDelivery'
  | 'acceptsAnyHigher'
  | 'noLinkDedupe'
  | 'flightSkippedByFirst'
  | 'settledAtTakeOver'
  | 'noKeyDedupe'
  | 'holeIgnored'
  | 'unknownIsCommitted'
  | 'unknownIsRebuilt'
  | 'rebuiltUnderOneId'
  | 'refusedSentAgain'
  | 'startNotRecorded'
  | 'startedIsRestarted'
  | 'timerByMail'
  | 'mailTrimmedToRead'
  | 'noIdleProbe';

export type Configuration = {
  /** a client sends the messages of its row one after the other (F2); rows are different clients */
  readonly clients: readonly (readonly ClientMessage[])[];
  /** most turns in a record */
  readonly groupMax: number;
  readonly faults: Faults;
  readonly choices: Choices;
  /** embedded: a record and its link entries are stored in one transaction, settled at commit */
  readonly atomicRelay: boolean;
  /** committed items are relayed even while a journal append has no answer yet */
  readonly relayWhilePending: boolean;
  /** the message whose turn opens an effect of class `once` */
  readonly onceBy: ClientMessage | null;
  /** embedded: an outcome may be in a record without a mailbox entry (G6) */
  readonly ownOutcomes: boolean;
  /** the message whose turn arms a timer */
  readonly timerBy: ClientMessage | null;
  /** the shard that takes snapshots and trims its journal */
  readonly snapshotShard: ShardIndex;
  /** mailboxes are trimmed up to the committed floor */
  readonly trimMail: boolean;
  /** initially no owner and empty journals */
  readonly cold: boolean;
  /** the only rule that this configuration breaks on purpose */
  readonly mistake: Mistake | null;
};

type Sketch = Partial<Omit<Configuration, 'faults' | 'choices'>> & Partial<Choices & Faults>;

const oneMessage = [['c0']] as const;
const twoInOrder = [['c0', 'c1']] as const;

export function configure(sketch: Sketch): Configuration {
  const { unknown = 0, crash = 0, takeOver = [0, 0], link = 0, client = 0, fenceLeak = 0 } = sketch;
  return {
    clients: sketch.clients ?? twoInOrder,
    groupMax: sketch.groupMax ?? 2,
    faults: { unknown, crash, takeOver, link, client, fenceLeak },
    choices: { snapshot: sketch.snapshot ?? 0, again: sketch.again ?? 0 },
    atomicRelay: sketch.atomicRelay ?? false,
    relayWhilePending: sketch.relayWhilePending ?? false,
    onceBy: sketch.onceBy ?? null,
    ownOutcomes: sketch.ownOutcomes ?? false,
    timerBy: sketch.timerBy ?? null,
    snapshotShard: sketch.snapshotShard ?? 0,
    trimMail: sketch.trimMail ?? false,
    cold: sketch.cold ?? false,
    mistake: sketch.mistake ?? null,
  };
}

/** The configurations that are small enough for every test run. */
export const quick = {
  'unknown append and take-over': configure({ unknown: 1, takeOver: [1, 0] }),
  'two unknown appends and take-over': configure({
    clients: oneMessage,
    unknown: 2,
    takeOver: [1, 0],
  }),
  'unknown append, crash and take-over': configure({
    clients: oneMessage,
    unknown: 1,
    crash: 1,
    takeOver: [1, 0],
  }),
  'two take-overs at once': configure({ clients: oneMessage, unknown: 1, takeOver: [2, 0] }),
  'link fault and sender take-over': configure({ link: 1, takeOver: [1, 0] }),
  'two link faults': configure({ link: 2 }),
  'relay while an append is unknown': configure({
    clients: oneMessage,
    unknown: 1,
    link: 1,
    takeOver: [1, 0],
    relayWhilePending: true,
  }),
  'receiver take-over, crash and link fault': configure({
    clients: oneMessage,
    takeOver: [0, 1],
    crash: 1,
    link: 1,
  }),
  'take-over of both shards': configure({ clients: oneMessage, takeOver: [1, 1], link: 1 }),
  'client copies and take-over': configure({ client: 1, takeOver: [1, 0] }),
  'two clients': configure({ clients: [['c0'], ['c1']], unknown: 1, takeOver: [1, 0] }),
  'snapshot, trim and take-over': configure({
    clients: oneMessage,
    snapshot: 1,
    takeOver: [1, 0],
    crash: 1,
    trimMail: true,
  }),
  'two snapshots and take-over': configure({
    clients: oneMessage,
    snapshot: 2,
    takeOver: [1, 0],
    trimMail: true,
  }),
  'receiver snapshot, trim and take-over': configure({
    clients: oneMessage,
    snapshot: 1,
    snapshotShard: 1,
    takeOver: [0, 1],
    trimMail: true,
  }),
  'cold start with snapshot': configure({
    clients: oneMessage,
    cold: true,
    snapshot: 1,
    takeOver: [1, 0],
  }),
  'once effect, unknown append, take-over, again': configure({
    clients: oneMessage,
    onceBy: 'c0',
    unknown: 1,
    takeOver: [1, 0],
    again: 1,
  }),
  'embedded: once effect, crash, take-over, doubled outcome': configure({
    clients: oneMessage,
    atomicRelay: true,
    onceBy: 'c0',
    crash: 1,
    takeOver: [1, 0],
    client: 1,
  }),
  'embedded: outcome in a record, unknown append, crash, take-over': configure({
    clients: oneMessage,
    atomicRelay: true,
    onceBy: 'c0',
    ownOutcomes: true,
    unknown: 1,
    crash: 1,
    takeOver: [1, 0],
  }),
  'timer, unknown append and take-over': configure({
    clients: oneMessage,
    timerBy: 'c0',
    unknown: 1,
    takeOver: [1, 0],
  }),
  'embedded: replaced idle owner whose successor dies': configure({
    clients: oneMessage,
    atomicRelay: true,
    onceBy: 'c0',
    crash: 2,
    takeOver: [1, 0],
    again: 1,
  }),
  'embedded: unknown append, crash and take-over': configure({
    atomicRelay: true,
    unknown: 1,
    crash: 1,
    takeOver: [1, 0],
  }),
  'leaking fence with the answer verified': configure({
    clients: oneMessage,
    unknown: 1,
    fenceLeak: 1,
    takeOver: [1, 0],
  }),
} as const satisfies Record<string, Configuration>;

/** The large configurations, searched with `TROUPE_MODEL=full`. */
export const long = {
  'two unknown appends, two messages, take-over': configure({ unknown: 2, takeOver: [1, 0] }),
  'unknown append, crash, two messages, take-over': configure({
    unknown: 1,
    crash: 1,
    takeOver: [1, 0],
  }),
  'unknown append and two take-overs': configure({ unknown: 1, takeOver: [2, 0] }),
  'two link faults, crash and take-over': configure({ link: 2, crash: 1, takeOver: [1, 0] }),
  'relay while an append is unknown, two messages': configure({
    unknown: 1,
    link: 1,
    takeOver: [1, 0],
    relayWhilePending: true,
  }),
  'three messages of two clients': configure({
    clients: [['c0', 'c1'], ['c2']],
    unknown: 1,
    takeOver: [1, 0],
  }),
  'three messages, two link faults': configure({
    clients: [['c0'], ['c1'], ['c2']],
    groupMax: 3,
    link: 2,
  }),
  'receiver: unknown append, link fault, crash and take-over': configure({
    unknown: 1,
    link: 1,
    crash: 1,
    takeOver: [0, 1],
  }),
  'take-over of both shards, two messages': configure({ takeOver: [1, 1], link: 1 }),
  'two client faults, crash and take-over': configure({ client: 2, crash: 1, takeOver: [1, 0] }),
  'snapshot, trim, crash and take-over, two messages': configure({
    snapshot: 1,
    crash: 1,
    takeOver: [1, 0],
    trimMail: true,
  }),
  'two snapshots, unknown append and take-over': configure({
    clients: oneMessage,
    snapshot: 2,
    unknown: 1,
    takeOver: [1, 0],
    trimMail: true,
  }),
  'receiver snapshot, crash, link fault and take-over': configure({
    clients: oneMessage,
    snapshot: 1,
    snapshotShard: 1,
    crash: 1,
    link: 1,
    takeOver: [0, 1],
    trimMail: true,
  }),
  'once effect: unknown append, crash, take-over, again': configure({
    clients: oneMessage,
    onceBy: 'c0',
    unknown: 1,
    crash: 1,
    takeOver: [1, 0],
    again: 1,
  }),
  'once effect: crash, take-over, doubled outcome': configure({
    clients: oneMessage,
    onceBy: 'c0',
    crash: 1,
    takeOver: [1, 0],
    client: 1,
  }),
  'once effect: two take-overs, crash, again': configure({
    clients: oneMessage,
    onceBy: 'c0',
    crash: 1,
    takeOver: [2, 0],
    again: 1,
  }),
  'replaced idle owner whose successor dies': configure({
    clients: oneMessage,
    onceBy: 'c0',
    crash: 2,
    takeOver: [1, 0],
    again: 1,
  }),
  'timer: unknown append, crash and take-over': configure({
    clients: oneMessage,
    timerBy: 'c0',
    unknown: 1,
    crash: 1,
    takeOver: [1, 0],
  }),
  'embedded: two unknown appends, crash and take-over': configure({
    atomicRelay: true,
    unknown: 2,
    crash: 1,
    takeOver: [1, 0],
  }),
  'embedded: both shards taken over, snapshot and trim': configure({
    clients: oneMessage,
    atomicRelay: true,
    unknown: 1,
    snapshot: 1,
    takeOver: [1, 1],
    trimMail: true,
  }),
  'leaking fence with the answer verified, two messages': configure({
    unknown: 1,
    fenceLeak: 1,
    takeOver: [1, 0],
  }),
} as const satisfies Record<string, Configuration>;
