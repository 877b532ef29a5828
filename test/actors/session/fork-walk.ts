/**
 * The events of a session that begins as a fork; account.ts checks the invariants on every path.
 */
import type { CopyOutput } from '../../../actors/session/types.ts';
import type { Move } from '../../charts/coverage.ts';

const copied = { key: 'agent:main:first', turn: 7 };
const said: CopyOutput['entries'] = [
  { type: 'user', runId: 'old', text: 'hello', at: 1, copied },
  { type: 'assistant', runId: 'old', text: 'so it is', model: 'm', stop: 'end', at: 2, copied },
];
const shortened: CopyOutput['entries'] = [
  {
    type: 'compaction',
    runId: 'old',
    summary: 's',
    keptFrom: 3,
    tokensBefore: 9,
    tokensAfter: 1,
    at: 3,
    copied,
  },
];
const start = { own: { label: 'first', model: 'offline/echo' }, settings: null, lastMessage: 'so' };

const page = (name: string, output: CopyOutput): Move => ({ name, job: 'copying', output });

export const forking: readonly Move[] = [
  { name: 'fork', event: { type: 'session.fork', from: { key: 'agent:main:first', turn: 9 } } },
  page('all of it', { start, entries: said }),
  page('its first page', { start, entries: said, rest: { next: 3, end: 9 } }),
  page('a later page', { entries: shortened, rest: { next: 4, end: 9 } }),
  page('its last page', { entries: shortened }),
  {
    name: 'it cannot be copied',
    job: 'copying',
    error: { code: 'NOT_FOUND', message: 'turn 9 is not kept' },
  },
];
