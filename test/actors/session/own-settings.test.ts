/** Settings of a session apart from its models, and notes of users in its transcript. */
import { describe, expect, it } from 'vitest';
import { INJECTED_CHARACTERS_MAX } from '../../../protocols/session-settings.ts';
import type { SessionRow } from '../../../protocols/session.ts';
import { Driven, type Said } from './driven.ts';

const rowIn = (said: Said) => said.rows('sessions').at(-1)!.value as SessionRow;

describe('the group, pin and archive mark of a session', () => {
  it('are in its row; a reset keeps the group and the pin, but not the mark', () => {
    const session = new Driven();
    const set = { archived: true, pinned: true, category: ' work ' };
    expect(rowIn(session.send({ type: 'session.set', ...set }))).toMatchObject({
      archived: true,
      pinned: true,
      category: 'work',
    });
    session.send({ type: 'session.reset' });
    expect(session.context.own).toEqual({ pinned: true, category: 'work' });
    const back = session.send({ type: 'session.set', pinned: false, category: null });
    expect(rowIn(back)).not.toHaveProperty('pinned');
    expect(rowIn(back)).not.toHaveProperty('category');
  });

  it.each(['', ' ', 'x'.repeat(121)])('%j is no group', (category) => {
    const session = new Driven();
    const { answers } = session.send({ type: 'session.set', category, pinned: true });
    expect(answers).toMatchObject([{ error: { code: 'INVALID_ARGUMENT' } }]);
    expect(session.context.own).toEqual({});
  });
});

describe('a note', () => {
  it('is in the transcript as text of the assistant, without a run, and starts none', () => {
    const session = new Driven();
    const said = session.send({
      type: 'session.inject',
      text: 'The deploy is done.',
      label: 'ops',
    });
    expect(said.entries).toMatchObject([
      {
        type: 'assistant',
        runId: '',
        text: '[ops]\n\nThe deploy is done.',
        model: 'gateway-injected',
      },
    ]);
    expect(said.answers).toMatchObject([{ result: { injected: true } }]);
    expect(rowIn(said)).toMatchObject({ status: 'idle', messages: 1 });
    expect(session.context.run).toBeNull();
  });

  it('for the agent is in the transcript with its author, and starts no run', () => {
    const session = new Driven();
    const note = { text: 'The disk is full.', label: 'system event', role: 'user' };
    const said = session.send({ type: 'session.inject', ...note });
    expect(said.entries).toEqual([
      {
        type: 'user',
        runId: '',
        text: '[system event]\n\nThe disk is full.',
        sender: 'system event',
        at: expect.any(Number),
      },
    ]);
    expect(rowIn(said)).toMatchObject({ status: 'idle', messages: 1 });
    expect(session.context.run).toBeNull();
  });

  it.each([
    { text: '  ' },
    { text: 'x'.repeat(INJECTED_CHARACTERS_MAX + 1) },
    { text: 'so', label: 'x'.repeat(101) },
  ])('that is empty or too long is refused (%#)', (note) => {
    const session = new Driven();
    const { answers, entries } = session.send({ type: 'session.inject', ...note });
    expect(answers).toMatchObject([{ error: { code: 'INVALID_ARGUMENT' } }]);
    expect(entries).toEqual([]);
  });

  it('is refused while a run goes, whose calls and results it would tear apart', () => {
    const session = new Driven();
    session.begin('r1');
    const { answers, entries } = session.send({ type: 'session.inject', text: 'so' });
    expect(answers).toMatchObject([{ error: { code: 'CONFLICT' } }]);
    expect(entries).toEqual([]);
  });
});
