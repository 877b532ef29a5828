/** The session of a key or label, and the refusal of callers that may not see it. */
import { describe, expect, it } from 'vitest';
import { findSession, type SessionName } from '../../../agent/tools/sessions/session-lookup.ts';
import type { TalkRules } from '../../../agent/policy/talk.ts';
import { NO_TALK, OPEN_TALK } from '../../servers/talk-rules.ts';
import { sessionRow, storedSessions } from './stored-sessions.ts';

const WHO = { agentId: 'main', sessionKey: 'agent:main:main', sandboxed: false };

async function finding(rules: TalkRules = NO_TALK, who = WHO) {
  const stored = storedSessions();
  await stored.sessions(
    sessionRow('agent:main:main', 1, { label: 'home' }),
    sessionRow('agent:main:dm:alice', 1, { label: 'home of Alice' }),
    sessionRow('agent:main:dm:bob', 1, { label: 'team' }),
    sessionRow('agent:main:dm:carl', 1, { label: 'teams' }),
    sessionRow('agent:work:main', 1, { label: 'team' }),
    sessionRow('agent:work:dm:dora', 1, { label: 'secret' }),
    sessionRow('made elsewhere', 1, { agentId: 'work', label: 'odd' }),
  );
  const index = await stored.context().system.index();
  return async (name: SessionName) => {
    const found = await findSession(index, 'default', name, who, rules);
    return found.status === 'found' ? found.row.sessionKey : found;
  };
}

describe('a session by its key', () => {
  it('is found when it may be listed', async () => {
    const find = await finding(OPEN_TALK);
    expect(await find({ sessionKey: 'agent:main:dm:bob' })).toBe('agent:main:dm:bob');
    expect(await find({ sessionKey: 'agent:work:main' })).toBe('agent:work:main');
    expect(await find({ sessionKey: 'made elsewhere' })).toBe('made elsewhere');
  });

  it('is distinguished from one that the agent does not have', async () => {
    const find = await finding(OPEN_TALK);
    expect(await find({ sessionKey: 'agent:work:dm:eve' })).toMatchObject({
      status: 'not_found',
      agentId: 'work',
    });
    expect(await find({ sessionKey: 'elsewhere' })).not.toHaveProperty('agentId');
  });

  it('is forbidden to others with the same text, whether it exists or not', async () => {
    const find = await finding();
    const [there, absent] = await Promise.all(
      ['agent:work:dm:dora', 'agent:work:dm:eeee'].map((sessionKey) => find({ sessionKey })),
    );
    expect(there).toMatchObject({ status: 'forbidden', rule: 'tools.agentToAgent.enabled' });
    expect(JSON.stringify(absent)).toBe(JSON.stringify(there).replaceAll('dora', 'eeee'));
    const [odd, none] = await Promise.all(
      ['made elsewhere', 'made elsewhen'].map((sessionKey) => find({ sessionKey })),
    );
    expect(odd).toMatchObject({ status: 'not_found' });
    expect(JSON.stringify(none)).toBe(JSON.stringify(odd).replaceAll('elsewhere', 'elsewhen'));
  });
});

describe('a session by its label', () => {
  it('is the exact match, otherwise the only one with this prefix', async () => {
    const find = await finding();
    expect(await find({ label: 'home' })).toBe('agent:main:main');
    expect(await find({ label: 'home ' })).toBe('agent:main:dm:alice');
    expect(await find({ label: 'team' })).toBe('agent:main:dm:bob');
  });

  it('is ambiguous when several match, with the candidates of one agent or of all', async () => {
    const find = await finding(OPEN_TALK);
    expect(await find({ label: 'team' })).toMatchObject({
      status: 'ambiguous',
      error: expect.stringContaining('2 sessions'),
      candidates: [
        { sessionKey: 'agent:main:dm:bob', label: 'team' },
        { sessionKey: 'agent:work:main', label: 'team' },
      ],
    });
    expect(await find({ label: 'team', agentId: 'work' })).toBe('agent:work:main');
    const some = await find({ label: 'tea', agentId: 'main' });
    expect(some).toMatchObject({ status: 'ambiguous' });
    expect(JSON.stringify(some)).not.toContain('agent:work');
  });

  it('is neither found nor a candidate when it may not be listed', async () => {
    const find = await finding();
    expect(await find({ label: 'secret' })).toMatchObject({ status: 'not_found' });
    expect(await find({ label: 'odd' })).toMatchObject({ status: 'not_found' });
    const sandboxed = await finding(OPEN_TALK, { ...WHO, sandboxed: true });
    expect(await sandboxed({ label: 'team' })).toMatchObject({ status: 'not_found' });
  });

  it('has at most ten candidates in the answer', async () => {
    const stored = storedSessions();
    const rows = Array.from({ length: 30 }, (_, n) =>
      sessionRow(`agent:main:dm:p${10 + n}`, 1, { label: 'many' }),
    );
    await stored.sessions(...rows.toReversed());
    const index = await stored.context().system.index();
    const found = await findSession(index, 'default', { label: 'many' }, WHO, NO_TALK);
    expect(found).toMatchObject({ error: expect.stringContaining('30 sessions') });
    const candidates = found.status === 'ambiguous' ? found.candidates : [];
    expect(candidates.map(({ sessionKey }) => sessionKey)).toEqual(
      rows.slice(0, 10).map(({ sessionKey }) => sessionKey),
    );
  });
});

it('requires exactly one of key and label', async () => {
  const find = await finding();
  expect(await find({})).toMatchObject({ status: 'invalid' });
  expect(await find({ sessionKey: 'agent:main:main', label: 'home' })).toMatchObject({
    status: 'invalid',
  });
});
