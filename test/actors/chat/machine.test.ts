import { describe, expect, it } from 'vitest';
import { explore, exploreRandomly } from '../../charts/coverage.ts';
import * as messengers from '../../../actors/chat/effects/messengers.ts';
import { exploration } from './walk.ts';

describe('the chat statechart', () => {
  it('reaches every state and transition, and keeps its invariants on every path', () => {
    expect(explore(exploration).unreached).toEqual([]);
  });

  it('keeps its invariants on long random paths', () => {
    expect(exploreRandomly(exploration, 60)).toBe(60);
  });
});

it('effects that last as long as a connection or a run take no slot', () => {
  const lasting = Object.entries(messengers).filter(([, { timeoutMs = 0 }]) => timeoutMs > 60_000);
  const slots = Object.fromEntries(lasting.map(([name, { takesSlot }]) => [name, takesSlot]));
  expect(slots).toEqual({ connect: false, follow: false, edit: false });
});
