import { describe, expect, it } from 'vitest';
import { step } from '../../../runtime/statechart/host.ts';
import { explore, follow, exploreRandomly } from '../../charts/coverage.ts';
import { contextOf, exploration, self } from './walk.ts';

describe('the task statechart', () => {
  it('reaches every state and transition, and keeps its invariants on every path', {
    timeout: 120_000,
  }, () => {
    expect(explore(exploration).unreached).toEqual([]);
  });

  it('keeps its invariants on long random paths', () => {
    expect(exploreRandomly(exploration, 100)).toBe(100);
  });
});

describe('an actor without an answer for a day after a stop request', () => {
  const silent = ['submit for an actor that withdraws', 'cancel', 'timer:withdrawalTime'];
  const viewAfter = (...moves: string[]) =>
    contextOf(follow(exploration, [...silent, ...moves]).live).view;

  it('leaves the task to an operator, and its late answer is still accepted', () => {
    expect(viewAfter()).toMatchObject({ state: 'UNKNOWN', waiting: { for: 'decision' } });
    expect(viewAfter('actor undid it')).toMatchObject({ state: 'COMPENSATED' });
    expect(viewAfter('actor stopped')).toMatchObject({ state: 'CANCELLED' });
    expect(viewAfter('actor done')).toMatchObject({ state: 'RUNNING' });
    expect(viewAfter('a stranger answers')).toMatchObject({ state: 'UNKNOWN' });
  });

  it('is not awaited again when an operator decides that the work failed', () => {
    expect(viewAfter('decide failed')).toMatchObject({ state: 'FAILED' });
  });
});

it('an envelope of a leap second has a time to live like any other', () => {
  const { work } = contextOf(follow(exploration, ['submit in a leap second']).live);
  expect(work?.expiresAt).toBeGreaterThan(0);
});

describe('a task that waits for input of its caller', () => {
  const HOUR_MS = 3_600_000;
  const waits = () => follow(exploration, ['submit', 'wants input']);
  const armed = (live: ReturnType<typeof waits>['live']) =>
    Object.values(live.timers).filter(({ fired }) => !fired);
  const after = ({ live, now }: Pick<ReturnType<typeof waits>, 'live' | 'now'>, ms: number) => {
    const meta = { id: `m${now + ms}`, now: now + ms, self, reply: { id: 'r' } };
    const cause = { event: { type: 'task.input', input: 'word', meta } };
    return { live: step(exploration.machine, live, cause, meta.now).live, now: meta.now };
  };

  it('has as much time as before when it continues', () => {
    const before = waits();
    const { live, now } = after(before, 5 * HOUR_MS);
    const { leftMs } = contextOf(live).work!.time;
    expect(leftMs).toBe(contextOf(before.live).work!.time.leftMs);
    expect(leftMs).toBeGreaterThan(299_000);
    expect(armed(live)).toMatchObject([{ due: now + leftMs }]);
  });

  it('waits for a day in all, and has then failed', () => {
    const first = waits();
    const now = first.now;
    expect(armed(first.live)).toMatchObject([{ due: now + 24 * HOUR_MS }]);
    const again = contextOf(after(first, 23 * HOUR_MS).live).work!.time;
    expect(again.waitedMs).toBe(23 * HOUR_MS);
    const late = follow(exploration, ['submit', 'wants input', 'timer:inputTime']).live;
    expect(contextOf(late).view).toMatchObject({
      state: 'FAILED',
      error: { code: 'DEADLINE_EXCEEDED', message: expect.stringContaining('24 hours') as string },
    });
  });
});

describe('what an operator decides', () => {
  const viewAfter = (...moves: string[]) => contextOf(follow(exploration, moves).live).view;
  const cases = {
    again: ['submit once', 'lost', 'decide again'],
    done: ['submit once', 'lost', 'decide done'],
    failed: ['submit once', 'lost', 'decide failed'],
    'again, of an undo': ['submit compensable', 'cancel', 'cannot be undone', 'decide again'],
    'done, of an undo': ['submit compensable', 'cancel', 'cannot be undone', 'decide done'],
    'accept, of an undo': ['submit compensable', 'cancel', 'cannot be undone', 'decide accept'],
    'accept, of an undo after a failure': [
      'submit compensable',
      'failed permanently',
      'cannot be undone',
      'decide accept',
    ],
  };

  it.each(Object.entries(cases))('stays in the view: %s', (name, moves) => {
    expect(viewAfter(...moves)?.decisions).toMatchObject([
      { decision: name.split(',')[0], why: 'I looked', at: expect.any(String) as string },
    ]);
  });
});
