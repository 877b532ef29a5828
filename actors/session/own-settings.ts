/**
 * Own settings: settings of one session until its reset (`session.set`), and notes that clients add
 * to its transcript (`session.inject`). Pure.
 */
import {
  INJECTED_CHARACTERS_MAX,
  INJECTED_LABEL_CHARACTERS_MAX,
  INJECTED_MODEL,
} from '../../protocols/session-settings.ts';
import type { SessionEntry } from '../../protocols/session.ts';
import { type ActionArgs, type ActionResult, defined, metaOf, nowOf, on } from './action-result.ts';
import { firstOf } from '../kit/text.ts';
import * as rows from './rows.ts';
import type { OwnSettings } from './types.ts';

const LABEL_CHARACTERS_MAX = 120;
const LAST_MESSAGE_CHARACTERS = 120;

/** `null` resets a field to the agent's setting; an absent field is unchanged. */
export const set = on('session.set', ({ context, event }): ActionResult => {
  const { model, thinking, queue, verbose, reasoning, label, category } = event;
  const name = label?.trim();
  const group = category?.trim();
  if (isWrong(name)) return { answer: { to: metaOf(event).reply, error: wrong('label') } };
  if (isWrong(group)) return { answer: { to: metaOf(event).reply, error: wrong('category') } };
  const { archived, pinned } = event;
  const given = {
    model,
    thinking,
    queue,
    verbose,
    reasoning,
    label: name ?? label,
    category: group ?? category,
    archived: archived === false ? null : archived,
    pinned: pinned === false ? null : pinned,
  };
  const named = Object.entries(given).filter(([, value]) => value !== undefined);
  const own: OwnSettings = defined({ ...context.own, ...Object.fromEntries(named) });
  const isOther = model !== undefined && context.usedModel !== undefined;
  const sessionId = idOf(context, event);
  const change = { own, sessionId, ...(isOther ? { usedModel: undefined } : {}) };
  return {
    change,
    rows: [rows.sessionRow({ ...context, ...change })],
    answer: { to: metaOf(event).reply, result: own },
  };
});

/** The id of the session. A new session is named after the first message that it receives. */
const idOf = ({ sessionId }: ActionArgs['context'], event: ActionArgs['event']): string =>
  sessionId || metaOf(event).id;

const isWrong = (name: string | undefined): boolean =>
  name !== undefined && (name === '' || name.length > LABEL_CHARACTERS_MAX);

const wrong = (field: string) =>
  ({
    code: 'INVALID_ARGUMENT',
    message: `the ${field} of a session has 1 to ${LABEL_CHARACTERS_MAX} characters; null removes it`,
  }) as const;

/** Adds a note to the transcript. It starts no run. */
export const inject = on('session.inject', ({ context, event }): ActionResult => {
  const { text, label, role } = event;
  const { reply: to } = metaOf(event);
  if (!isNote(text, label)) return { answer: { to, error: WRONG_NOTE } };
  const at = nowOf(event);
  const sender = label?.trim() || undefined;
  const said = sender === undefined ? text : `[${sender}]\n\n${text}`;
  const change = {
    sessionId: idOf(context, event),
    length: context.length + 1,
    updatedAt: at,
    lastMessage: firstOf(said, LAST_MESSAGE_CHARACTERS),
  };
  const note = { runId: '', text: said, at } as const;
  const entry: SessionEntry =
    role === 'user'
      ? { type: 'user', ...note, ...defined({ sender }) }
      : { type: 'assistant', ...note, model: INJECTED_MODEL, stop: 'end' };
  return {
    change,
    entries: [entry],
    rows: [rows.sessionRow({ ...context, ...change })],
    answer: { to, result: { injected: true } },
  };
});

/** Refuses a note during a run. */
export const refuseInjection = ({ event }: ActionArgs): ActionResult => ({
  answer: { to: metaOf(event).reply, error: BUSY },
});

const isNote = (text: string, label = ''): boolean =>
  text.trim() !== '' &&
  text.length <= INJECTED_CHARACTERS_MAX &&
  label.length <= INJECTED_LABEL_CHARACTERS_MAX;

const WRONG_NOTE = {
  code: 'INVALID_ARGUMENT',
  message: `a note has 1 to ${INJECTED_CHARACTERS_MAX} characters, its label at most ${INJECTED_LABEL_CHARACTERS_MAX}`,
} as const;
const BUSY = {
  code: 'CONFLICT',
  message:
    'the session is answering a message: add the note when the run has ended, or send it as a message',
} as const;
