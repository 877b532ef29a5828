import { describe, expect, it } from 'vitest';
import { explore, stroll } from '../../charts/coverage.ts';
import { a, b, conversation, d, down, exploration, s, start, time, UNFIT } from './walk.ts';

describe('the supervisor statechart', () => {
  it('reaches every state and transition, and keeps its invariants on every path', {
    timeout: 120_000,
  }, () => {
    expect(explore(exploration).unreached).toEqual([]);
  });

  it('keeps its invariants on long random paths', () => {
    expect(stroll(exploration, 60)).toBe(60);
  });

  it('creates its children in order and makes them its own', () => {
    const { told } = conversation(start({ children: [a, d] }));
    expect(told).toEqual(['order.open a', 'order.open d']);
  });

  it('restarts the child and those after it, rest for one, and sends each its start', () => {
    const first = start({ children: [a, d, s], strategy: 'rest-for-one' });
    const { told } = conversation(first, down(d), time);
    expect(told.slice(3)).toEqual(['sys.restart d', 'order.open d', 'supervisor.restart s']);
  });

  it('resumes a child alone, whatever the strategy', () => {
    const { told } = conversation(
      start({ children: [a, b], strategy: 'one-for-all' }),
      down(b),
      time,
    );
    expect(told.slice(2)).toEqual(['sys.resume b']);
  });

  it('escalates beyond the intensity: it ends all, the last first, and reports to its supervisor', () => {
    const first = start({ children: [a, d], intensity: 1 });
    const { told } = conversation(first, down(a), time, down(a));
    expect(told.slice(4).sort()).toEqual(['supervision.down cluster', 'sys.stop a', 'sys.stop d']);
    expect(told.indexOf('sys.stop d')).toBeLessThan(told.indexOf('sys.stop a'));
  });

  it('restarts every child on request, without recorded failures', () => {
    const first = start({ children: [a], intensity: 0 });
    const { told } = conversation(first, down(a), { type: 'supervisor.restart' });
    expect(told.slice(-2)).toEqual(['sys.restart a', 'order.open a']);
  });

  it('changes nothing when an order is repeated', () => {
    expect(conversation(start({}), start({})).told).toHaveLength(5);
  });

  it.each(UNFIT)('refuses an invalid order: %s', (_, event) => {
    const { replies, told } = conversation(event);
    expect(replies).toMatchObject([{ error: { code: 'INVALID_ARGUMENT' } }]);
    expect(told).toEqual([]);
  });
});
