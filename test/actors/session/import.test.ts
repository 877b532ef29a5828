import { describe, expect, it } from 'vitest';
import { answer, Driven } from './driven.ts';
import { facts, said } from './import-walk.ts';

const page = (from: number, isLast: boolean, more: object = {}) => ({
  type: 'session.import',
  facts,
  from,
  entries: said,
  isLast,
  ...more,
});

describe('an imported session', () => {
  it('has the facts and the entries of its pages, each once', () => {
    const session = new Driven();
    const first = session.send(page(0, false));
    expect(first.answers).toMatchObject([{ result: { entries: 2, isComplete: false } }]);
    expect(first.entries).toEqual(said);
    const again = session.send(page(0, false));
    expect(again.answers).toMatchObject([{ result: { entries: 2, isComplete: false } }]);
    expect(again.entries).toEqual([]);
    const last = session.send(page(2, true));
    expect(last.answers).toMatchObject([{ result: { entries: 4, isComplete: true } }]);
    expect(session.state).toBe('idle');
    expect(session.context).toMatchObject({
      sessionId: 'elsewhere',
      createdAt: 1,
      updatedAt: 2,
      length: 4,
      own: { label: 'from elsewhere' },
    });
  });

  it('accepts no page that does not follow, and none of another session', () => {
    const session = new Driven();
    session.send(page(0, false));
    const conflict = [{ error: { code: 'CONFLICT' } }];
    expect(session.send(page(3, true)).answers).toMatchObject(conflict);
    const other = { facts: { ...facts, sessionId: 'other' } };
    expect(session.send(page(2, true, other)).answers).toMatchObject(conflict);
    expect(session.context.length).toBe(2);
  });

  it('answers what arrived meanwhile, and its pages afterwards', () => {
    const session = new Driven();
    session.send(page(0, false));
    expect(session.receive('r1').answers).toMatchObject([{ result: { queued: true } }]);
    session.send(page(2, true));
    session.admit('r1');
    session.done('model', answer([]));
    expect(session.rows.get('r1')?.status).toBe('ok');
    const late = session.send(page(0, false));
    expect(late.answers).toMatchObject([{ result: { isComplete: true } }]);
    expect(late.entries).toEqual([]);
  });

  it('shows models its conversation from the entry that the last compaction kept', () => {
    const session = new Driven();
    session.send(page(0, false));
    const compaction = { type: 'compaction', runId: '', summary: 's', keptFrom: 2 };
    const entry = { ...compaction, tokensBefore: 9, tokensAfter: 1, at: 3 };
    session.send(page(2, true, { entries: [entry] }));
    expect(session.context.contextFrom).toBe(2);
  });

  it('refuses to change a session that has messages', () => {
    const session = new Driven();
    session.begin('r1');
    const refused = session.send(page(0, true));
    expect(refused.answers).toMatchObject([{ error: { code: 'CONFLICT' } }]);
    expect(refused.entries).toEqual([]);
  });

  it.each([
    ['session.reset', 'idle'],
    ['session.close', 'closed'],
  ])('ends with %s before its last page', (type, state) => {
    const session = new Driven();
    session.send(page(0, false));
    session.send({ type });
    expect(session.state).toBe(state);
    if (state === 'idle') expect(session.context.importing).toBeUndefined();
  });
});
