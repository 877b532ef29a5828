import { describe, expect, it } from 'vitest';
import { waitsOf } from '../../operations/actor-waits.ts';
import type { ActorView } from '../../protocols/actor-view.ts';

const NOW = 1_000_000;
const IDLE: ActorView = {
  actor: 'default/session/agent:main:main',
  machine: 'session@3',
  status: 'active',
  state: 'idle',
  accepts: [],
  effects: [],
  timers: [],
  stash: [],
  shardLag: 0,
};
const waits = (
  view: Partial<ActorView>,
  approvals: Parameters<typeof waitsOf>[1]['approvals'] = [],
) => waitsOf({ ...IDLE, ...view }, { now: NOW, approvals });

describe('why an actor waits', () => {
  it('is nothing for an actor that waits for its next message', () => {
    expect(waits({})).toEqual([]);
  });

  it('names its status and its reason, and who decides', () => {
    expect(waits({ status: 'suspended', why: 'boom', supervisor: 'default/supervisor/s' })).toEqual(
      [
        {
          kind: 'status',
          text: 'it failed (boom), and waits for its supervisor default/supervisor/s',
        },
      ],
    );
    for (const status of ['quarantined', 'stopped', 'done'])
      expect(waits({ status })).toMatchObject([{ kind: 'status' }]);
  });

  it('names approvals, effects, timers, deferred messages and the mailbox, in this order', () => {
    const found = waits(
      {
        state: { running: 'thinking' },
        effects: [
          { effect: 'callModel', state: 'started', attempt: 2, since: NOW - 12_000 },
          { effect: 'runTool', state: 'unknown', attempt: 1, since: NOW - 60_000 },
        ],
        timers: [{ event: 'retryBackoff', due: NOW + 5_000 }],
        stash: [{ type: 'session.reset' }, { type: 'session.reset' }],
        shardLag: 4,
      },
      [{ id: 'r8.call_1', title: 'rm build', expires_at: '1970-01-01T00:20:00.000Z' }],
    );
    expect(found.map(({ kind }) => kind)).toEqual([
      'approval',
      'effect',
      'decision',
      'timer',
      'stash',
      'mailbox',
    ]);
    expect(found.map(({ text }) => text)).toMatchObject([
      expect.stringContaining('rm build'),
      'it waits for the effect callModel, for 12 s, attempt 2',
      expect.stringContaining('effects.decide'),
      expect.stringContaining('in 5 s'),
      '2 messages wait because its state {"running":"thinking"} defers them: session.reset',
      expect.stringContaining('4 messages'),
    ]);
  });
});
