/**
 * Messages of agents in a session: their place in the queue, what a run records of them, and the
 * reports of ends to their senders.
 */
import { describe, expect, it } from 'vitest';
import { address } from '../../../protocols/address.ts';
import type { Lineage } from '../../../protocols/lineage.ts';
import type { MessageOrigin, RunEnded, SessionRow } from '../../../protocols/session.ts';
import { endedOf, spawnOf } from './bonds-walk.ts';
import { answer, call, Driven, resultOf, type Said } from './driven.ts';
import { terms } from './terms-of-test.ts';

const conversation = address('default', 'conversation', 'c1');
const subagent = address('default', 'subagent', 'u1');
const CHILD = 'agent:scout:subagent:u1';
const origin: MessageOrigin = { kind: 'agent', sessionKey: 'agent:other:main', ids: ['c1'] };
const lineage: Lineage = { hops: 2, visited: ['agent:other:main'], left: 9 };
const ofAgent = { origin, lineage, notify: true };
const usage = { inputTokens: 3, outputTokens: 2 };

const endsIn = ({ tells }: Said) =>
  tells
    .filter(({ event }) => event.type === 'run.ended')
    .map(({ to, event }) => ({ to, ...(event as RunEnded) }));
const queueOf = (session: Driven) => session.context.queue.map(({ runId }) => runId);
const rowIn = (said: Said) => said.rows('sessions').at(-1)!.value as SessionRow;

describe('a message of an agent', () => {
  it('has its own run that records its sender, and uses no slot', () => {
    const session = new Driven();
    const begun = session.receive('m1', ofAgent, conversation);
    expect(begun.entries).toMatchObject([{ type: 'user', runId: 'm1', origin }]);
    expect(begun.tells).toMatchObject([{ event: { type: 'agent.admit', nested: true } }]);
    expect(session.context.run).toMatchObject({ origin, lineage, notify: conversation });
    expect(session.admit('m1').events).toMatchObject([{ phase: 'start', origin }]);
  });

  it('does not join the run of a user, whatever the queue mode of the session', () => {
    const session = new Driven();
    session.begin('r1', { queue: { mode: 'steer' } });
    session.receive('m1', ofAgent, conversation);
    session.done('model', answer([call('a')]));
    session.done('tools', [resultOf('a')]);
    expect(session.context.run).toMatchObject({ runId: 'r1', joined: [] });
    session.done('model', answer([]));
    expect(session.context.run).toMatchObject({ runId: 'm1', origin });
  });

  it('comes from an actor: an entry point cannot send in its name', () => {
    const session = new Driven();
    const begun = session.receive('r1', { ...ofAgent, channel: 'irc' });
    expect(begun.entries[0]).not.toHaveProperty('origin');
    expect(session.context.run).not.toHaveProperty('lineage');
    expect(session.context.run).not.toHaveProperty('notify');
    expect(session.context.channel).toBe('irc');
  });

  it('waits where its priority puts it', () => {
    const session = new Driven();
    session.begin('r1', { queue: { mode: 'followup' } });
    for (const [runId, priority] of [
      ['low1', 'low'],
      ['normal1', 'normal'],
      ['high1', 'high'],
      ['low2', 'low'],
      ['normal2', undefined],
      ['high2', 'high'],
    ])
      session.receive(runId!, { ...ofAgent, priority }, conversation);
    expect(queueOf(session)).toEqual(['high1', 'high2', 'normal1', 'normal2', 'low1', 'low2']);
  });

  it('is never folded, nor folds another: it is refused where too many wait', () => {
    const session = new Driven();
    session.begin('r1', { queue: { cap: 2, mode: 'followup' } });
    session.receive('m1', ofAgent, conversation);
    session.receive('r2');
    const refused = session.receive('m2', ofAgent, conversation);
    expect(refused.answers).toMatchObject([{ error: { code: 'RATE_LIMIT_EXCEEDED' } }]);
    session.receive('r3');
    expect(session.context.folded).toMatchObject([{ runId: 'r2' }]);
    expect(queueOf(session)).toEqual(['m1', 'r3']);
  });

  it('leaves no room for a user where only messages of agents wait', () => {
    const session = new Driven();
    session.begin('r1', { queue: { cap: 1, mode: 'followup' } });
    session.receive('m1', ofAgent, conversation);
    expect(session.receive('r2').answers).toMatchObject([
      { error: { code: 'RATE_LIMIT_EXCEEDED' } },
    ]);
  });

  it.each(['REPLY_SKIP', '**ANNOUNCE_SKIP**.', ' `REPLY_SKIP`\n'])(
    'may be answered by %j, which is silence',
    (text) => {
      const session = new Driven();
      session.receive('m1', ofAgent, conversation);
      session.admit('m1');
      expect(endsIn(session.done('model', answer([], { text })))).toMatchObject([{ text: '' }]);
      session.begin('r1');
      session.done('model', answer([], { text }));
      expect(session.rows.get('r1')?.text).toBe(text.trim());
    },
  );
});

describe('a message that joins a run of agents', () => {
  it('leaves it the messages that it has, neither more nor fewer', () => {
    for (const left of [0, 150]) {
      const session = new Driven();
      session.receive('m1', ofAgent, conversation);
      session.admit('m1');
      session.done('model', answer([call('a')]));
      const steered = { origin, lineage: { hops: 7, visited: ['agent:x:main'], left } };
      session.receive('m2', { ...steered, queue: 'steer' }, subagent);
      session.done('tools', [resultOf('a')]);
      expect(session.context.run).toMatchObject({
        joined: [{ runId: 'm2' }],
        lineage: { hops: 7, visited: ['agent:other:main', 'agent:x:main'], left: 9 },
      });
    }
  });
});

describe('the sender of a message that requested it receives a report of its end', () => {
  const report = { type: 'run.ended', to: conversation, runId: 'm1', open: 0 };

  it('when its run ends', () => {
    const session = new Driven();
    session.receive('m1', ofAgent, conversation);
    session.admit('m1');
    expect(endsIn(session.done('model', answer([])))).toEqual([
      {
        ...report,
        sessionKey: 'agent:main:main',
        status: 'ok',
        text: 'so it is',
        usage,
        startedAt: expect.any(Number),
        endedAt: expect.any(Number),
        below: { usage: { inputTokens: 0, outputTokens: 0 }, spawned: 0 },
      },
    ]);
  });

  it('when the run fails, with the error and the automatic next step', () => {
    const session = new Driven();
    session.receive('m1', ofAgent, conversation);
    session.receive('m2', ofAgent, conversation);
    const refused = {
      type: 'agent.refused',
      runId: 'm1',
      error: { code: 'FORBIDDEN', message: 'no' },
    };
    const ends = endsIn(session.send(refused, address('default', 'agent', 'main')));
    expect(ends).toMatchObject([{ ...report, status: 'error', error: { message: 'no' }, open: 1 }]);
  });

  it('when it joined another run', () => {
    const session = new Driven();
    session.begin('r1');
    session.done('model', answer([call('a')]));
    session.receive('m1', { ...ofAgent, queue: 'steer' }, conversation);
    session.done('tools', [resultOf('a')]);
    expect(session.context.run).toMatchObject({ lineage, joined: [{ runId: 'm1' }] });
    expect(endsIn(session.done('model', answer([])))).toMatchObject([
      { ...report, status: 'ok', text: 'so it is', joined: 'r1' },
    ]);
  });

  it.each([
    ['aborted while it waits', { type: 'session.abort', runId: 'm1' }],
    ['reset', { type: 'session.reset' }],
    ['deleted', { type: 'session.close' }],
  ])('when it is %s', (_, event) => {
    const session = new Driven();
    session.begin('r1');
    session.receive('m1', ofAgent, conversation);
    expect(endsIn(session.send(event))).toMatchObject([{ ...report, status: 'aborted', text: '' }]);
  });

  it('with the entry point that users used last', () => {
    const session = new Driven();
    session.receive('m1', { ...ofAgent, channel: 'irc' }, conversation);
    session.receive('r1', { channel: 'telegram', queue: 'followup' });
    session.admit('m1');
    const said = session.done('model', answer([]));
    expect(endsIn(said)).toMatchObject([{ channel: 'telegram' }]);
    expect(rowIn(said)).toMatchObject({ channel: 'telegram', contextTokens: 3 });
  });

  it('with the model that answered last, until another one is set or it is reset', () => {
    const begun = () => {
      const session = new Driven();
      session.receive('m1', ofAgent, conversation);
      session.admit('m1');
      return { session, said: session.done('model', answer([], { model: 'offline/x' })) };
    };
    expect(rowIn(begun().said)).toMatchObject({ status: 'idle', model: 'offline/x' });
    const set = (model: string | null) =>
      rowIn(begun().session.send({ type: 'session.set', model })).model;
    expect([set('offline/y'), set(null)]).toEqual(['offline/y', undefined]);
    const { session } = begun();
    expect(rowIn(session.send({ type: 'session.reset' }))).not.toHaveProperty('model');
  });

  it('in 256 Ki characters to a chat', () => {
    const session = new Driven();
    const chat = address('t', 'chat', 'telegram:main:42');
    session.receive('m1', { ...ofAgent, channel: 'telegram' }, chat);
    session.admit('m1');
    const [end] = endsIn(session.done('model', answer([], { text: 'x'.repeat(300_000) })));
    expect(end!.text).toHaveLength(256 * 1024);
  });

  it('in 32 Ki characters', () => {
    const session = new Driven();
    session.receive('m1', ofAgent, conversation);
    session.admit('m1');
    const [end] = endsIn(session.done('model', answer([], { text: 'x'.repeat(50_000) })));
    expect(end!.text).toHaveLength(32 * 1024);
  });
});

describe("a subagent's session", () => {
  const begun = (more: object = {}): { session: Driven; said: Said } => {
    const session = new Driven(CHILD);
    const task = { kind: 'task', sessionKey: 'agent:main:main', ids: ['u1'] };
    const first = { terms: terms(more), origin: task, lineage, notify: true };
    return { session, said: session.receive('t1', first, subagent) };
  };

  it.each([
    ['from a person', undefined],
    ['from another subagent', address('default', 'subagent', 'u2')],
    ['from a subagent of another tenant', address('other', 'subagent', 'u1')],
  ])('takes no terms %s', (_, from) => {
    const session = new Driven(CHILD);
    const said = session.receive('t1', { terms: terms() }, from);
    expect(said.answers[0]?.error?.code ?? 'refused').toMatch(/INVALID_ARGUMENT|refused/);
    expect(session.state).toBe('idle');
    expect(session.context.terms).toBeUndefined();
  });

  it('accepts them once, and no other session does', () => {
    const { session } = begun();
    expect(session.context.terms).toEqual(terms());
    session.receive('t2', { terms: terms({ tokens: 9 ** 9 }), queue: 'interrupt' }, subagent);
    expect(session.context).toMatchObject({ terms: terms(), queue: [], run: { runId: 't1' } });
    const other = new Driven();
    other.receive('t1', { terms: terms() }, subagent);
    expect(other.state).toBe('idle');
  });

  it('is admitted and released by the agent that its terms name, with its settings narrowed', () => {
    const { session, said } = begun({ admitBy: 'main', model: 'offline/b', turnsMax: 7 });
    const main = address('default', 'agent', 'main');
    expect(said.tells).toMatchObject([{ to: main, event: { type: 'agent.admit' } }]);
    expect(session.admit('t1').events).toMatchObject([{ spawnedBy: 'agent:main:main' }]);
    expect(session.context.settings).toMatchObject({ model: 'offline/b', limits: { turnsMax: 7 } });
    expect(session.started.get('model')).toMatchObject({ assemble: { isSubagent: true } });
    session.done('model', answer([call('a')]));
    expect(session.started.get('tools')).toMatchObject({ workspace: subagent });
    session.done('tools', [resultOf('a')]);
    const end = session.done('model', answer([]));
    expect(end.tells).toContainEqual(
      expect.objectContaining({
        to: main,
        event: expect.objectContaining({ type: 'agent.release' }),
      }),
    );
    expect(rowIn(end)).toMatchObject({ spawnedBy: 'agent:main:main' });
  });

  it('reports every run to its subagent, and the requested one once', () => {
    const { session } = begun();
    session.admit('t1');
    expect(endsIn(session.done('model', answer([])))).toMatchObject([
      { to: subagent, runId: 't1' },
    ]);
    session.begin('r2');
    expect(endsIn(session.done('model', answer([])))).toMatchObject([
      { to: subagent, runId: 'r2' },
    ]);
  });

  it('ends its run when its tokens are used', () => {
    const { session } = begun({ tokens: 5 });
    session.admit('t1');
    session.done('model', answer([call('a')]));
    expect(endsIn(session.done('tools', [resultOf('a')]))).toMatchObject([
      { status: 'error', error: { details: { limit: 'tokensPerSession' } } },
    ]);
  });

  it('keeps its terms in a reset, and may not use again what it has used', () => {
    const { session } = begun({ tokens: 9 });
    session.admit('t1');
    session.done('model', answer([]));
    session.send({ type: 'session.reset' });
    session.begin('r2');
    const end = session.done('model', answer([call('a')]));
    expect(session.context.terms).toEqual(terms({ tokens: 9 }));
    expect(end.tells).toEqual([]);
    expect(endsIn(session.done('tools', [resultOf('a')]))).toMatchObject([
      { error: { details: { limit: 'tokensPerSession' } } },
    ]);
  });
});

describe('a label', () => {
  it('is trimmed, in the row, and remains after a reset', () => {
    const session = new Driven();
    const said = session.send({ type: 'session.set', label: '  news ', model: 'offline/b' });
    expect(rowIn(said).label).toBe('news');
    expect(said.answers).toMatchObject([{ result: { label: 'news', model: 'offline/b' } }]);
    session.send({ type: 'session.reset' });
    expect(session.context.own).toEqual({ label: 'news' });
    expect(rowIn(session.send({ type: 'session.set', label: null })).label).toBeUndefined();
  });

  it.each(['', '  ', 'x'.repeat(121)])('%j is none', (label) => {
    const session = new Driven();
    const { answers } = session.send({ type: 'session.set', label, model: 'offline/b' });
    expect(answers).toMatchObject([{ error: { code: 'INVALID_ARGUMENT' } }]);
    expect(session.context.own).toEqual({});
  });
});

describe('a session that is deleted', () => {
  it('ends its run, leaves the list, marks its transcript and answers', () => {
    const session = new Driven();
    session.begin('r1');
    const said = session.send({ type: 'session.close' });
    expect(session.state).toBe('closed');
    expect(session.rows.get('r1')?.status).toBe('aborted');
    expect(said.rows('sessions').at(-1)).toMatchObject({ key: 'agent:main:main', value: null });
    expect(said.entries).toMatchObject([{ type: 'run.end' }, { type: 'reset' }]);
    expect(said.answers).toMatchObject([{ result: { closed: true } }]);
  });
});

describe('a session that no agent has to do with', () => {
  it('stores and shows no fields about agents', () => {
    const session = new Driven();
    session.begin('r1');
    const row = rowIn(session.done('model', answer([])));
    const news = ['children', 'books', 'reports', 'waits', 'terms', 'closing', 'awaited', 'probed'];
    expect(Object.keys(JSON.parse(JSON.stringify(session.context)))).not.toEqual(
      expect.arrayContaining([expect.stringMatching(new RegExp(`^(${news.join('|')})$`))]),
    );
    expect(Object.keys(row)).not.toContain('spawnedBy');
    expect(Object.keys(row)).not.toContain('label');
  });
});

describe('what subagents have reported when a run ends', () => {
  /** A run in its last model call, with an ended subagent. */
  const reported = (): Driven => {
    const session = new Driven();
    session.begin('r1');
    session.done('model', answer([call('a')]));
    session.send(spawnOf('c1', 'r1'));
    session.done('tools', [resultOf('a')]);
    session.send(endedOf('c1'), address('default', 'subagent', 'c1'));
    return session;
  };

  it('has its own run, with the same id for the same reports, and is no message of a user', () => {
    const [said, again] = [1, 2].map(() => reported().done('model', answer([])));
    expect(said!.entries.at(-1)).toMatchObject({
      type: 'user',
      runId: expect.stringMatching(/^report-[0-9a-f]{24}$/),
      origin: { kind: 'subagents', ids: ['c1'] },
      text: expect.stringContaining('findings of c1'),
    });
    expect(again!.entries.at(-1)?.runId).toBe(said!.entries.at(-1)?.runId);
    const admit = said!.tells.find(({ event }) => event.type === 'agent.admit');
    expect(admit?.event).toMatchObject({ nested: true });
  });

  it('precedes a waiting message, whose run belongs to the user', () => {
    const session = reported();
    session.receive('r2', { queue: 'followup' });
    const said = session.done('model', answer([]));
    const entry = said.entries.at(-1);
    expect(entry).toMatchObject({ type: 'user', runId: 'r2' });
    expect(entry).not.toHaveProperty('origin');
    const text = entry?.type === 'user' ? entry.text : '';
    expect(text).toMatch(/findings of c1[^]*\n\n---\n\ntext of r2$/);
    expect(session.context.run?.lineage).toBeUndefined();
    expect(session.context.reports).toBeUndefined();
    expect(session.context.books).toMatchObject({ renewed: true });
  });
});
