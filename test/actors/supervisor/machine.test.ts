import { describe, expect, it } from 'vitest';
import { explore, exploreRandomly } from '../../charts/coverage.ts';
import { a, b, outputsOf, d, down, exploration, s, start, time, UNFIT } from './walk.ts';

describe('the supervisor statechart', () => {
  it('reaches every state and transition, and keeps its invariants on every path', {
    timeout: 120_000,
  }, () => {
    expect(explore(exploration).unreached).toEqual([]);
  });

  it('keeps its invariants on long random paths', () => {
    expect(exploreRandomly(exploration, 60)).toBe(60);
  });

  it('creates its children in order and makes them its own', () => {
    const { sent } = outputsOf(start({ children: [a, d] }));
    expect(sent).toEqual(['order.open a', 'order.open d']);
  });

  it('restarts the child and those after it, rest for one, and sends each its start', () => {
    const first = start({ children: [a, d, s], strategy: 'rest-for-one' });
    const { sent } = outputsOf(first, down(d), time);
    expect(sent.slice(3)).toEqual(['sys.restart d', 'order.open d', 'supervisor.restart s']);
  });

  it('resumes a child alone, whatever the strategy', () => {
    const { sent } = outputsOf(start({ children: [a, b], strategy: 'one-for-all' }), down(b), time);
    expect(sent.slice(2)).toEqual(['sys.resume b']);
  });

  it('escalates beyond the intensity: it ends all, the last first, and reports to its supervisor', () => {
    const first = start({ children: [a, d], intensity: 1 });
    const { sent } = outputsOf(first, down(a), time, down(a));
    expect(sent.slice(4).sort()).toEqual(['supervision.down cluster', 'sys.stop a', 'sys.stop d']);
    expect(sent.indexOf('sys.stop d')).toBeLessThan(sent.indexOf('sys.stop a'));
  });

  it('restarts every child on request, without recorded failures', () => {
    const first = start({ children: [a], intensity: 0 });
    const { sent } = outputsOf(first, down(a), { type: 'supervisor.restart' });
    expect(sent.slice(-2)).toEqual(['sys.restart a', 'order.open a']);
  });

  it('changes nothing when an order is repeated', () => {
    expect(outputsOf(start({}), start({})).sent).toHaveLength(5);
  });

  it.each(UNFIT)('refuses an invalid order: %s', (_, event) => {
    const { replies, sent } = outputsOf(event);
    expect(replies).toMatchObject([{ error: { code: 'INVALID_ARGUMENT' } }]);
    expect(sent).toEqual([]);
  });
});
