/** Own settings: what people set for one session, until its reset (`session.set`). Pure. */
import type { SessionSet } from '../../protocols/session.ts';
import { type At, type Deed, defined, metaOf } from './deed.ts';
import * as rows from './rows.ts';
import type { OwnSettings } from './types.ts';

const LABEL_CHARACTERS_MAX = 120;

/** A field that is null is as the agent has it again; one that is absent stays. */
export function set({ context, event }: At): Deed {
  const { model, thinking, queue, verbose, reasoning, label } = event as SessionSet;
  const name = label?.trim();
  if (name !== undefined && (name === '' || name.length > LABEL_CHARACTERS_MAX))
    return { answer: { to: metaOf(event).reply, error: WRONG_LABEL } };
  const given = { model, thinking, queue, verbose, reasoning, label: name ?? label };
  const named = Object.entries(given).filter(([, value]) => value !== undefined);
  const own: OwnSettings = defined({ ...context.own, ...Object.fromEntries(named) });
  const isOther = model !== undefined && context.usedModel !== undefined;
  const change = { own, ...(isOther ? { usedModel: undefined } : {}) };
  return {
    change,
    rows: [rows.sessionRow({ ...context, ...change })],
    answer: { to: metaOf(event).reply, result: own },
  };
}

const WRONG_LABEL = {
  code: 'INVALID_ARGUMENT',
  message: `the label of a session has 1 to ${LABEL_CHARACTERS_MAX} characters; null takes it away`,
} as const;
