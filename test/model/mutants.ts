/**
 * Mutants: each breaks one rule, and names the invariant that must report it. A model in which a
 * mutant survives checks too little.
 */
import { type Configuration, configure } from './configurations.ts';
import type { InvariantId } from './invariants.ts';

export type Mutant = {
  readonly what: string;
  readonly breaks: string;
  readonly caughtBy: InvariantId;
  readonly configuration: Configuration;
};

const one = [['c0']] as const;
const takeOver = [1, 0] as const;

export const mutants: readonly Mutant[] = [
  {
    what: 'the log stores an append without checking its expectation',
    breaks: 'P2',
    caughtBy: 'V4',
    configuration: configure({ clients: one, takeOver, mistake: 'noFence' }),
  },
  {
    what: 'a fence that leaks, and readers that count every record',
    breaks: 'C4',
    caughtBy: 'V1',
    configuration: configure({ clients: one, takeOver, fenceLeak: 1, mistake: 'noChainRule' }),
  },
  {
    what: 'a fence that leaks, and an owner that trusts the answer',
    breaks: 'C5',
    caughtBy: 'V4',
    configuration: configure({ clients: one, takeOver, fenceLeak: 1, mistake: 'answerTrusted' }),
  },
  {
    what: 'keys are remembered before the commit',
    breaks: 'F3',
    caughtBy: 'V5',
    configuration: configure({ clients: one, unknown: 1, takeOver, mistake: 'dedupeBeforeCommit' }),
  },
  {
    what: 'the journal is trimmed before the pointer counts',
    breaks: 'T2',
    caughtBy: 'V7',
    configuration: configure({ clients: one, snapshot: 1, takeOver, mistake: 'trimBeforePointer' }),
  },
  {
    what: 'the pointer is appended before the blob is whole',
    breaks: 'T1',
    caughtBy: 'V7',
    configuration: configure({ clients: one, snapshot: 1, takeOver, mistake: 'pointerBeforeBlob' }),
  },
  {
    what: 'the pointer is kept elsewhere and the journal trimmed empty',
    breaks: 'T2',
    caughtBy: 'V8',
    configuration: configure({
      clients: one,
      snapshot: 1,
      takeOver,
      cold: true,
      mistake: 'pointerOutsideJournal',
    }),
  },
  {
    what: 'items are relayed before the record is known to count',
    breaks: 'C1',
    caughtBy: 'V2',
    configuration: configure({ clients: one, unknown: 1, mistake: 'relayBeforeCommit' }),
  },
  {
    what: 'the floor is the position read, not the position processed',
    breaks: 'B1',
    caughtBy: 'V5',
    configuration: configure({ mistake: 'floorIsReadPosition' }),
  },
  {
    what: 'the snapshot holds no outbox',
    breaks: 'D5',
    caughtBy: 'V8',
    configuration: configure({
      clients: one,
      snapshot: 1,
      takeOver,
      mistake: 'outboxNotInSnapshot',
    }),
  },
  {
    what: 'two flights at once, and an answer counts as delivery of all earlier items',
    breaks: 'D3',
    caughtBy: 'V5',
    configuration: configure({ link: 2, takeOver, mistake: 'answerIsDelivery' }),
  },
  {
    what: 'two flights at once, and the receiver accepts every number above the highest',
    breaks: 'E1',
    caughtBy: 'V3',
    configuration: configure({ link: 2, takeOver, mistake: 'acceptsAnyHigher' }),
  },
  {
    what: 'the receiver does not skip link items that it has received',
    breaks: 'E1',
    caughtBy: 'V3',
    configuration: configure({ clients: one, link: 1, mistake: 'noLinkDedupe' }),
  },
  {
    what: 'the receiver skips a whole flight when it has its first item',
    breaks: 'E1',
    caughtBy: 'V5',
    configuration: configure({ link: 1, mistake: 'flightSkippedByFirst' }),
  },
  {
    what: 'a new owner considers all committed items settled, and relay is not part of the commit',
    breaks: 'A5',
    caughtBy: 'V5',
    configuration: configure({ clients: one, crash: 1, mistake: 'settledAtTakeOver' }),
  },
  {
    what: 'the receiver does not check keys',
    breaks: 'F3',
    caughtBy: 'V4',
    configuration: configure({ clients: one, client: 1, mistake: 'noKeyDedupe' }),
  },
  {
    what: 'a take-over folds a journal with a hole',
    breaks: 'A2',
    caughtBy: 'V8',
    configuration: configure({ clients: one, snapshot: 1, takeOver, mistake: 'holeIgnored' }),
  },
  {
    what: 'an unknown append counts as committed',
    breaks: 'C3',
    caughtBy: 'V2',
    configuration: configure({ clients: one, unknown: 1, mistake: 'unknownIsCommitted' }),
  },
  {
    what: 'a rebuilt record keeps the id of the record that it replaces',
    breaks: 'C3',
    caughtBy: 'V2',
    configuration: configure({ unknown: 1, mistake: 'rebuiltUnderOneId' }),
  },
  {
    what: 'a refused append is sent again with a fresh expectation',
    breaks: 'A4',
    caughtBy: 'V4',
    configuration: configure({ clients: one, takeOver, mistake: 'refusedSentAgain' }),
  },
  {
    what: 'an effect of class once starts without a committed Start',
    breaks: 'G3',
    caughtBy: 'V6',
    configuration: configure({ clients: one, onceBy: 'c0', takeOver, mistake: 'startNotRecorded' }),
  },
  {
    what: 'a new owner starts a started effect of class once again',
    breaks: 'G4',
    caughtBy: 'V6',
    configuration: configure({
      clients: one,
      onceBy: 'c0',
      takeOver,
      mistake: 'startedIsRestarted',
    }),
  },
  {
    what: 'timers go through the mailbox without a generation',
    breaks: 'H2',
    caughtBy: 'V4',
    configuration: configure({ clients: one, timerBy: 'c0', takeOver, mistake: 'timerByMail' }),
  },
  {
    what: 'the mailbox is trimmed to the position read',
    breaks: 'T3',
    caughtBy: 'V7',
    configuration: configure({ clients: one, unknown: 1, mistake: 'mailTrimmedToRead' }),
  },
  {
    what: 'an idle owner never checks whether it was replaced',
    breaks: 'A7',
    caughtBy: 'V5',
    configuration: configure({
      clients: one,
      atomicRelay: true,
      onceBy: 'c0',
      crash: 2,
      takeOver,
      again: 1,
      mistake: 'noIdleProbe',
    }),
  },
];

/**
 * This behaviour seems wrong, but a complete search shows that it is safe if each record has its
 * own id.
 */
export const harmless: Configuration = configure({
  clients: one,
  unknown: 2,
  takeOver,
  mistake: 'unknownIsRebuilt',
});
