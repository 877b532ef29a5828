import { describe, expect, it } from 'vitest';
import { waitsOf } from '../../operations/actor-waits.ts';
import type { ActorView } from '../../protocols/actor-view.ts';

type Facts = Parameters<typeof waitsOf>[1];

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
  steps: 1,
  shard: { shard: 0, state: 'owned' },
  shardLag: 0,
};
const waits = (
  view: Partial<ActorView>,
  approvals: Facts['approvals'] = [],
  limits: Pick<Facts, 'budget' | 'agent'> = {},
) => waitsOf({ ...IDLE, ...view }, { now: NOW, approvals, ...limits });

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
          { id: '1', effect: 'callModel', state: 'started', attempt: 2, since: NOW - 12_000 },
          { id: '2', effect: 'runTool', state: 'unknown', attempt: 1, since: NOW - 60_000 },
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

  it('says that the number of waiting messages is unknown, and not 0', () => {
    expect(waits({ shardLagUnknown: true })).toEqual([
      { kind: 'mailbox', text: 'it is not known yet how many messages of its shard wait' },
    ]);
    const unowned = { shard: 0, state: 'unowned' };
    expect(waits({ shardLagUnknown: true, shard: unowned })).toMatchObject([{ kind: 'shard' }]);
  });

  it('names a pause, and who ends it', () => {
    expect(waits({ status: 'paused', why: 'a repair' })).toEqual([
      {
        kind: 'status',
        text: 'it is paused (a repair): its messages wait in order until it is resumed',
      },
    ]);
  });

  it('names a shard without an owner, and one that cannot be used', () => {
    expect(waits({ shard: { shard: 3, state: 'unowned' } })).toMatchObject([
      { kind: 'shard', text: expect.stringContaining('start a worker') },
    ]);
    expect(
      waits({ shard: { shard: 3, state: 'quarantined', why: 'a damaged row' } }),
    ).toMatchObject([
      { kind: 'shard', text: expect.stringContaining('quarantined (a damaged row)') },
    ]);
  });

  it('names labels that no worker has', () => {
    const effects = [
      { id: '1', effect: 'build', state: 'open', attempt: 1, since: NOW - 5_000, lacks: 'gpu=yes' },
    ] as const;
    expect(waits({ effects })).toMatchObject([
      {
        kind: 'worker',
        text: 'build needs a worker with the labels gpu=yes, and none is there, since 5 s',
      },
    ]);
  });

  it('names an exhausted budget of today, and a slot that its agent has not given', () => {
    const budget = { spent: 'tokensPerDay', day: '1970-01-01' } as const;
    const agent = { agentId: 'main', running: 2, waiting: 1 };
    const state = { running: 'admitting' };
    expect(waits({ state }, [], { budget, agent })).toMatchObject([
      { kind: 'budget', on: { spent: 'tokensPerDay' } },
      { kind: 'slot', on: { agent: 'main', running: 2, waiting: 1 } },
    ]);
    const yesterday = { ...budget, day: '1969-12-31' };
    expect(waits({}, [], { budget: yesterday, agent })).toEqual([]);
  });
});
