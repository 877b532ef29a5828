/**
 * Queue: messages that come in, and which of them becomes or joins a run (AL3). Pure.
 *
 * Invariants: what was accepted waits in `queue` or `folded`, or is in a run; none is lost; no more
 * than `cap` wait, and FOLDED_MAX that were folded; what waits is so small that a turn which takes
 * all of it into a run, beside the largest outcome of an effect, is within what a turn may write.
 */
import type { QueueSettings } from '../../protocols/agent.ts';
import { IMAGES_MAX } from '../../protocols/content.ts';
import type {
  QueueMode,
  RunAccepted,
  SessionEntry,
  SessionReceive,
} from '../../protocols/session.ts';
import type { Delivered, Project, Reply } from '../../protocols/statechart.ts';
import {
  agentAddress,
  type At,
  type Deed,
  defined,
  firstOf,
  metaOf,
  NO_USAGE,
  nowOf,
  runOf,
  withRun,
} from './deed.ts';
import * as rows from './rows.ts';
import type { Folded, Joined, Pending, Run, SessionContext } from './types.ts';

/** Messages that may wait (`QueueSettings.cap`), and the most that a setting may say. */
const QUEUE_CAP = 20;
const QUEUE_CAP_MAX = 100;
/** Folded messages that a run may carry; past it the newest is refused whatever `overflow` says. */
const FOLDED_MAX = 200;
/** What waits together; a single message may be as large as doors let in (4 MiB). */
const WAITING_BYTES_MAX = 4 * 2 ** 20;
/** Messages that end with one run by steering it; more become runs of their own. */
const JOINED_MAX = 256;
const DEBOUNCE_MS = 500;
/** Messages that one turn takes into a run; the others come at the next boundary. */
const STEERED_AT_ONCE = 16;
const LINE_CHARACTERS = 160;
const PREVIEW_CHARACTERS = 120;

/** What came through no other door. */
const CHANNEL = 'webchat';

const queueOf = ({ settings }: SessionContext): QueueSettings => settings?.queue ?? {};

export const capOf = (context: SessionContext): number =>
  Math.max(1, Math.min(queueOf(context).cap ?? QUEUE_CAP, QUEUE_CAP_MAX));

/** By message, session, channel, agent. */
export function modeOf(
  context: SessionContext,
  message: Pick<SessionReceive, 'queue' | 'channel'>,
): QueueMode {
  const { byChannel, mode } = queueOf(context);
  const channel = message.channel ?? CHANNEL;
  const ofChannel = byChannel && Object.hasOwn(byChannel, channel) ? byChannel[channel] : undefined;
  return message.queue ?? context.own.queue ?? ofChannel ?? mode ?? 'steer';
}

// ---- taking messages in

const receiveOf = (event: unknown) => event as Delivered<SessionReceive>;

const pendingOf = ({ context, event }: At): Pending => {
  const { meta, type: _, queue, channel = CHANNEL, ...rest } = receiveOf(event);
  const { terms: __, notify, priority, ...message } = rest;
  const isSettled = context.settings !== null || queue || context.own.queue;
  return {
    ...message,
    ...(notify && meta.from ? { notify: meta.from } : {}),
    ...(priority && priority !== 'normal' ? { priority } : {}),
    mode: modeOf(context, receiveOf(event)),
    ...(isSettled ? {} : { channel }),
    acceptedAt: meta.now,
  };
};

/** The settings are known now: what came before them goes by them, too. */
export const settled = (context: SessionContext): readonly Pending[] =>
  context.queue.map(({ channel, ...pending }) =>
    channel === undefined ? pending : { ...pending, mode: modeOf(context, { channel }) },
  );

const accepted = ({ context, event }: At, queued: boolean): Reply => {
  const { meta, runId } = receiveOf(event);
  const { sessionKey } = context;
  const result: RunAccepted = {
    runId,
    sessionKey,
    status: 'accepted',
    acceptedAt: meta.now,
    queued,
  };
  return { to: meta.reply, result };
};

/** The first message, while nobody waits: its run begins in the same turn. */
export const receive = (at: At): Deed => ({
  change: {
    queue: [...at.context.queue, pendingOf(at)],
    sessionId: at.context.sessionId || metaOf(at.event).id,
    updatedAt: nowOf(at.event),
  },
  answer: accepted(at, false),
});

const isFull = (context: SessionContext): boolean => context.queue.length >= capOf(context);

/** At least as much as it takes in a row: a character of a text is 3 bytes at most. */
const bytesOf = ({ text, extraSystemPrompt = '', images = [] }: Sized): number =>
  3 * (text.length + extraSystemPrompt.length) +
  images.reduce((sum, { data }) => sum + data.length, 0);
type Sized = Pick<SessionReceive, 'text' | 'extraSystemPrompt' | 'images'>;

/** Too many characters and images wait for this one to wait, too. */
const isTooMuch = ({ queue }: SessionContext, message: SessionReceive): boolean =>
  queue.length > 0 &&
  queue.reduce((sum, pending) => sum + bytesOf(pending), bytesOf(message)) > WAITING_BYTES_MAX;

export const hasRoom = ({ context, event }: At): boolean => {
  if (isTooMuch(context, receiveOf(event))) return false;
  if (!isFull(context)) return true;
  const { overflow = 'summarize' } = queueOf(context);
  return overflow !== 'refuse' && context.folded.length < FOLDED_MAX;
};

/** It waits; where too many do, the oldest makes room. */
export function wait(at: At): Deed {
  const { context } = at;
  const pending = pendingOf(at);
  const oldest = isFull(context) ? context.queue[0] : undefined;
  const kept = oldest ? context.queue.slice(1) : context.queue;
  const folded = oldest ? [...context.folded, fold(context, oldest)] : context.folded;
  return waiting(at, pending, { queue: [...kept, pending], folded });
}

/** It goes before all others: the run that goes on is aborted for it. */
export function waitFirst(at: At): Deed {
  const pending = pendingOf(at);
  return waiting(at, pending, { queue: [pending, ...at.context.queue] });
}

function waiting(at: At, pending: Pending, change: Partial<SessionContext>): Deed {
  const updated = { ...change, updatedAt: nowOf(at.event) };
  return {
    change: updated,
    answer: accepted(at, true),
    rows: [
      rows.waitingRow(at.context, pending, { status: 'queued' }),
      rows.sessionRow({ ...at.context, ...updated }),
    ],
  };
}

const fold = (context: SessionContext, { runId, acceptedAt, text, sender }: Pending): Folded => {
  const words = firstOf(text.replaceAll(/\s+/g, ' ').trim(), LINE_CHARACTERS);
  const line =
    queueOf(context).overflow === 'old' ? '' : `- ${sender ? `${sender}: ` : ''}${words}`;
  return { runId, acceptedAt, line };
};

export function refuse({ context, event }: At): Deed {
  const isLong = isTooMuch(context, receiveOf(event));
  const limit = isLong ? 'too long for one more of this length' : 'which is its limit';
  const message = `the session ${context.sessionKey} has ${context.queue.length} messages waiting, ${limit}; send again when one is answered`;
  return {
    answer: { to: metaOf(event).reply, error: { code: 'RATE_LIMIT_EXCEEDED', message } },
  };
}

export const interrupts = ({ context, event }: At): boolean =>
  modeOf(context, receiveOf(event)) === 'interrupt';

/** It may join the run that waits for a person's word: it is one, and goes before the answer. */
export const interjects = (at: At): boolean => {
  const { context, event } = at;
  const isSteering = modeOf(context, receiveOf(event)) === 'steer';
  return isSteering && hasRoom(at) && roomToJoin(context) > 0;
};

// ---- a run begins

/** What was folded, as one line in front of the next message; '' when nothing was. */
const summaryOf = (folded: readonly Folded[]): string => {
  if (folded.length === 0) return '';
  const count = `[${folded.length} earlier messages came while too many waited]`;
  return [count, ...folded.map(({ line }) => line).filter(Boolean)].join('\n');
};

const said = ({ sender, text }: Pending): string => (sender ? `${sender}: ${text}` : text);

/** All of them as one message, each under who said it. */
const textOf = (messages: readonly Pending[], folded: readonly Folded[]): string => {
  const summary = summaryOf(folded);
  const texts = messages.length === 1 ? [messages[0]!.text] : messages.map(said);
  return [...(summary ? [summary] : []), ...texts].join('\n\n---\n\n');
};

/** None is lost: what was folded has its run also when those behind it were aborted. */
export const somebodyWaits = ({ context: { queue, folded } }: At): boolean =>
  queue.length + folded.length > 0;

/** The messages that become the next run, the first of which gives it its id. */
const nextRun = ({ queue }: SessionContext): readonly Pending[] =>
  queue[0]?.mode === 'collect' ? queue.filter(({ mode }) => mode === 'collect') : queue.slice(0, 1);

/** The oldest waiting message becomes the run, together with those that are collected with it. */
export function begin({ context, event }: At): Deed {
  const now = nowOf(event);
  const messages = nextRun(context);
  const {
    images: _,
    mode: __,
    channel: ___,
    priority: ____,
    ...first
  } = messages[0] ?? unfolded(context.folded[0]!);
  const joined: Joined[] = [...context.folded, ...messages]
    .filter(({ runId }) => runId !== first.runId)
    .map(joinedOf);
  const text = textOf(messages, context.folded);
  const change = {
    queue: context.queue.filter((pending) => !messages.includes(pending)),
    folded: [],
    run: { ...newRun(now), ...first, text, joined },
    updatedAt: now,
    length: context.length + 1,
    lastMessage: firstOf(text, PREVIEW_CHARACTERS),
  };
  const next = { ...context, ...change };
  return {
    change,
    entries: [userEntry({ runId: first.runId, text, now, from: messages })],
    tells: [{ to: agentAddress(context), event: { type: 'agent.admit', runId: first.runId } }],
    rows: [rows.runRow(next, now), ...joinedRows(next, joined), rows.sessionRow(next)],
  };
}

/** Its words are in the line that says what was folded. */
const unfolded = (one: Folded): Pending => ({ ...joinedOf(one), text: '', mode: 'followup' });

const newRun = (now: number): Omit<Run, 'runId' | 'text' | 'acceptedAt' | 'joined'> => ({
  startedAt: now,
  status: 'running',
  entries: 1,
  compactions: 0,
  calls: 0,
  attempt: 0,
  usage: NO_USAGE,
  isAssembled: false,
  replyHooks: false,
  planned: [],
  tools: [],
  sent: [],
});

const joinedOf = ({ runId, acceptedAt }: Joined): Joined => ({ runId, acceptedAt });

const joinedRows = (context: SessionContext, joined: readonly Joined[]): Project[] =>
  joined.map((one) =>
    rows.waitingRow(context, one, { status: 'running', joined: runOf(context).runId }),
  );

function userEntry(message: {
  runId: string;
  text: string;
  now: number;
  from: readonly Pending[];
  of?: string;
}): SessionEntry {
  const { runId, text, now, from, of } = message;
  const images = from.flatMap((pending) => pending.images ?? []).slice(0, IMAGES_MAX);
  const sender = from.length === 1 ? from[0]!.sender : undefined;
  return {
    type: 'user',
    runId,
    text,
    at: now,
    ...defined({ sender, of }),
    ...(images.length > 0 ? { images } : {}),
  };
}

// ---- messages that join the run

const roomToJoin = ({ folded, run }: SessionContext): number =>
  Math.max(0, JOINED_MAX - folded.length - run!.joined.length);

const steering = (context: SessionContext): readonly Pending[] =>
  context.queue
    .filter(({ mode }) => mode === 'steer')
    .slice(0, Math.min(STEERED_AT_ONCE, roomToJoin(context)));

export const somebodySteers = ({ context }: At): boolean => steering(context).length > 0;

/** They are part of the run from here on, each under its own id, and end with it. */
export function steer({ context, event }: At): Deed {
  const now = nowOf(event);
  const { runId } = runOf(context);
  const taken = steering(context);
  const texts = taken.map((pending, n) => textOf([pending], n === 0 ? context.folded : []));
  const joined = [...context.folded, ...taken].map(joinedOf);
  const change = {
    queue: context.queue.filter((pending) => !taken.includes(pending)),
    folded: [],
    length: context.length + taken.length,
    updatedAt: now,
    lastMessage: firstOf(texts.at(-1)!, PREVIEW_CHARACTERS),
    ...withRun(context, {
      entries: runOf(context).entries + taken.length,
      joined: [...runOf(context).joined, ...joined],
    }),
  };
  const next = { ...context, ...change };
  return {
    change,
    entries: taken.map((pending, n) =>
      userEntry({ runId, text: texts[n]!, now, from: [pending], of: pending.runId }),
    ),
    events: taken.map(({ runId: of }, n) => ({ stream: 'steer', of, text: texts[n]! })),
    rows: [...joinedRows(next, joined), rows.sessionRow(next)],
  };
}

// ---- what was collected

/** The next run waits until nothing has come for a while. */
export const nextCollects = ({ context }: At): boolean => context.queue[0]?.mode === 'collect';

/** What is left of the quiet; none when as many wait as may. */
export function quietMs({ context, event }: At): number {
  if (isFull(context)) return 0;
  const last = Math.max(...context.queue.map(({ acceptedAt }) => acceptedAt));
  return Math.max(0, last + (queueOf(context).debounceMs ?? DEBOUNCE_MS) - nowOf(event));
}
