/**
 * The events of a session that is imported; account.ts checks the invariants on every path.
 */
import type { SessionFacts } from '../../../protocols/session-import.ts';
import type { SessionEntry } from '../../../protocols/session.ts';
import type { Move } from '../../charts/coverage.ts';

export const facts: SessionFacts = {
  sessionId: 'elsewhere',
  createdAt: 1,
  updatedAt: 2,
  usage: { inputTokens: 3, outputTokens: 4 },
  lastMessage: 'so it is',
  label: 'from elsewhere',
};
export const said: readonly SessionEntry[] = [
  { type: 'user', runId: 'old', text: 'hello', at: 1 },
  { type: 'assistant', runId: 'old', text: 'so it is', model: 'm', stop: 'end', at: 2 },
];

const page = (name: string, from: number, isLast: boolean): Move => ({
  name,
  event: { type: 'session.import', facts, from, entries: said, isLast },
});

export const importing: readonly Move[] = [
  page('a whole import', 0, true),
  page('the first page of an import', 0, false),
  page('the last page of an import', said.length, true),
];
