/**
 * Scripts of agents for tests that kill them: trees of subagents and conversations, each held in
 * another state of the statecharts.
 */
import { REPLY_SKIP } from '../../../protocols/conversation.ts';
import type { Called, Script } from './agent-model.ts';

const spawn = (name: string, args: object = {}): Called => ({
  name: 'sessions_spawn',
  args: { task: `Do your part. [${name}]`, label: name, ...args },
});

/** By the name in a user's message to a session, the subagents that the session starts. */
export const TREES = {
  /** more than there are slots: three run, two are reserved */
  three: [1, 2, 3, 4, 5].map((n) => spawn(`three-${n}`)),
  /** a run that waits for three subagents */
  waits: [1, 2, 3].map((n) => spawn(`waits-${n}`, { wait: true })),
  /** a chain of three agents, each waiting for the next one */
  chain: [spawn('chain-1', { wait: true })],
  /** a chain in which no agent waits: the run of the middle one has ended */
  free: [spawn('free-1')],
  /** results arrive while the parent waits for its model */
  busy: [spawn('busy-1'), spawn('busy-2')],
  /** its time limit passes while no process runs, or soon afterwards */
  late: [spawn('late-1', { timeout: 20_000 })],
  /** killed by an operator at the moment of the process kill */
  doomed: [spawn('doomed-1')],
} as const satisfies Readonly<Record<string, readonly Called[]>>;

export const CONVERSATIONS = ['asked', 'sent', 'asking', 'answering', 'telling'] as const;
export type ConversationName = (typeof CONVERSATIONS)[number];

const held: Script = { hold: 'until-release' };
const skips: Script = { says: REPLY_SKIP };

/** The user's message names the target: a session with a user of its own. */
const send = (name: ConversationName, timeoutSeconds: number): Script => ({
  calls: (words) => {
    const [sessionKey = ''] = /agent:coder:[a-z0-9-]+/.exec(words) ?? [];
    const message = `What now? [${name}-0]`;
    return [{ name: 'sessions_send', args: { sessionKey, message, timeoutSeconds } }];
  },
});
const PATIENCE_SECONDS = 300;

const CONVERSATION_SCRIPTS: Readonly<Record<string, Script>> = {
  // the requester waits for the answer
  asked: send('asked', PATIENCE_SECONDS),
  'asked-0': { ...held, says: 'Go on. [asked-1]' },
  'asked-1': skips,
  // the requester does not wait for the answer
  sent: send('sent', 0),
  'sent-0': { ...held, says: 'Go on. [sent-1]' },
  'sent-1': skips,
  // held in a turn of the requester
  asking: send('asking', PATIENCE_SECONDS),
  'asking-0': { says: 'Go on. [asking-1]' },
  'asking-1': { ...held, says: 'Go on. [asking-2]' },
  'asking-2': skips,
  // held in a turn of the target
  answering: send('answering', PATIENCE_SECONDS),
  'answering-0': { says: 'Go on. [answering-1]' },
  'answering-1': { says: 'Go on. [answering-2]' },
  'answering-2': { ...held, ...skips },
  // held in the announcement
  telling: send('telling', PATIENCE_SECONDS),
  'telling-0': { says: 'Go on. [telling-1]' },
  'telling-1': skips,
  'telling-0-announce': held,
};

/** By conversation, its turns in order. */
export const TURNS: Readonly<Record<ConversationName, readonly (number | 'announce')[]>> = {
  asked: [0, 1, 'announce'],
  sent: [0, 1, 'announce'],
  asking: [0, 1, 2, 'announce'],
  answering: [0, 1, 2, 'announce'],
  telling: [0, 1, 'announce'],
};

const TREE_SCRIPTS: Readonly<Record<string, Script>> = {
  ...Object.fromEntries(Object.entries(TREES).map(([name, calls]) => [name, { calls }])),
  busy: { calls: TREES.busy, ...held },
  // earlier, the parent would read their results in the answer that has to be held
  'busy-1': { after: 'busy' },
  'busy-2': { after: 'busy' },
  'chain-1': { calls: [spawn('chain-2', { wait: true })] },
  'free-1': { calls: [spawn('free-2')] },
  'late-1': { hold: 'forever' },
  'doomed-1': { hold: 'forever' },
  ...Object.fromEntries(
    ['three-1', 'three-2', 'three-3', 'three-4', 'three-5', 'waits-1', 'waits-2', 'waits-3']
      .concat('chain-2', 'free-2')
      .map((name) => [name, held]),
  ),
};

export const SCRIPTS: Readonly<Record<string, Script>> = {
  ...CONVERSATION_SCRIPTS,
  ...TREE_SCRIPTS,
};

/** By tree, the labels of its subagents. */
export const CHILDREN: Readonly<Record<keyof typeof TREES, readonly string[]>> = {
  three: ['three-1', 'three-2', 'three-3', 'three-4', 'three-5'],
  waits: ['waits-1', 'waits-2', 'waits-3'],
  chain: ['chain-1', 'chain-2'],
  free: ['free-1', 'free-2'],
  busy: ['busy-1', 'busy-2'],
  late: ['late-1'],
  doomed: ['doomed-1'],
};
