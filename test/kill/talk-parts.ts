/**
 * The parts that agents play while they are killed: trees of subagents and exchanges, each kept in
 * another state of the charts.
 */
import { REPLY_SKIP } from '../../protocols/conversation.ts';
import type { Called, Part } from './talk-model.ts';

const spawn = (name: string, args: object = {}): Called => ({
  name: 'sessions_spawn',
  args: { task: `Do your part. [${name}]`, label: name, ...args },
});

/** What a person says to a session of an agent, `[NAME]`, and what follows from it. */
export const TREES = {
  /** more than there are places: three go on, two are reserved */
  three: [1, 2, 3, 4, 5].map((n) => spawn(`three-${n}`)),
  /** a run that waits for three at once */
  waits: [1, 2, 3].map((n) => spawn(`waits-${n}`, { wait: true })),
  /** a chain of three agents, each waiting for the next one */
  chain: [spawn('chain-1', { wait: true })],
  /** the same, nobody waiting: the one in the middle has ended its run */
  free: [spawn('free-1')],
  /** results come while its run thinks */
  busy: [spawn('busy-1'), spawn('busy-2')],
  /** its time is up while everything is dead, or soon after */
  late: [spawn('late-1', { timeout: 20_000 })],
  /** ended by an operator in the moment of the kill */
  doomed: [spawn('doomed-1')],
} as const satisfies Readonly<Record<string, readonly Called[]>>;

export const TALKS = ['asked', 'sent', 'asking', 'answering', 'telling'] as const;
export type Talk = (typeof TALKS)[number];

const kept: Part = { kept: 'held' };
const skips: Part = { says: REPLY_SKIP };

/** A person says whom it asks: a session that people have talked in. */
const send = (talk: Talk, timeoutSeconds: number): Part => ({
  calls: (words) => {
    const [sessionKey = ''] = /agent:coder:[a-z0-9-]+/.exec(words) ?? [];
    const message = `What now? [${talk}-0]`;
    return [{ name: 'sessions_send', args: { sessionKey, message, timeoutSeconds } }];
  },
});
const PATIENCE_SECONDS = 300;

const PARTS_OF_TALKS: Readonly<Record<string, Part>> = {
  // its answer is waited for
  asked: send('asked', PATIENCE_SECONDS),
  'asked-0': { ...kept, says: 'Go on. [asked-1]' },
  'asked-1': skips,
  // nobody waits for the answer
  sent: send('sent', 0),
  'sent-0': { ...kept, says: 'Go on. [sent-1]' },
  'sent-1': skips,
  // the requester has the turn
  asking: send('asking', PATIENCE_SECONDS),
  'asking-0': { says: 'Go on. [asking-1]' },
  'asking-1': { ...kept, says: 'Go on. [asking-2]' },
  'asking-2': skips,
  // the target has it
  answering: send('answering', PATIENCE_SECONDS),
  'answering-0': { says: 'Go on. [answering-1]' },
  'answering-1': { says: 'Go on. [answering-2]' },
  'answering-2': { ...kept, ...skips },
  // people are about to be told
  telling: send('telling', PATIENCE_SECONDS),
  'telling-0': { says: 'Go on. [telling-1]' },
  'telling-1': skips,
  'telling-0-announce': kept,
};

/** Turns of each, in order. */
export const TURNS: Readonly<Record<Talk, readonly (number | 'announce')[]>> = {
  asked: [0, 1, 'announce'],
  sent: [0, 1, 'announce'],
  asking: [0, 1, 2, 'announce'],
  answering: [0, 1, 2, 'announce'],
  telling: [0, 1, 'announce'],
};

const PARTS_OF_TREES: Readonly<Record<string, Part>> = {
  ...Object.fromEntries(Object.entries(TREES).map(([name, calls]) => [name, { calls }])),
  busy: { calls: TREES.busy, ...kept },
  'chain-1': { calls: [spawn('chain-2', { wait: true })] },
  'free-1': { calls: [spawn('free-2')] },
  'late-1': { kept: 'ever' },
  'doomed-1': { kept: 'ever' },
  ...Object.fromEntries(
    ['three-1', 'three-2', 'three-3', 'three-4', 'three-5', 'waits-1', 'waits-2', 'waits-3']
      .concat('chain-2', 'free-2')
      .map((name) => [name, kept]),
  ),
};

export const PARTS: Readonly<Record<string, Part>> = { ...PARTS_OF_TALKS, ...PARTS_OF_TREES };

/** Below a session that was told `[NAME]`: who has which parent. */
export const CHILDREN: Readonly<Record<keyof typeof TREES, readonly string[]>> = {
  three: ['three-1', 'three-2', 'three-3', 'three-4', 'three-5'],
  waits: ['waits-1', 'waits-2', 'waits-3'],
  chain: ['chain-1', 'chain-2'],
  free: ['free-1', 'free-2'],
  busy: ['busy-1', 'busy-2'],
  late: ['late-1'],
  doomed: ['doomed-1'],
};
