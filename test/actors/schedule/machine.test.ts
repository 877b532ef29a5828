import { describe, expect, it } from 'vitest';
import type { ScheduleContext } from '../../../actors/schedule/job.ts';
import { withPlaces } from '../../../actors/schedule/migrate.ts';
import {
  JOB_RETENTION_MS,
  type MissedPolicy,
  RUNS_KEPT,
  type ScheduleJob,
  type When,
} from '../../../protocols/schedule.ts';
import { explore, exploreRandomly } from '../../charts/coverage.ts';
import { Hand, HOUR, MINUTE, START } from './hand.ts';
import { exploration } from './walk.ts';

describe('the schedule statechart', () => {
  it('reaches every state and transition, and keeps its invariants on every path', () => {
    expect(explore(exploration).unreached).toEqual([]);
  });

  it('keeps its invariants on long random paths', () => {
    expect(exploreRandomly(exploration, 60)).toBe(60);
  });
});

const runsOf = (hand: Hand) =>
  (hand.say({ type: 'schedule.runs' })!.result as { runs: { dueAt?: number; status: string }[] })
    .runs;

describe('a job', () => {
  it('fires at its time, under an id made of job and time, as a run of its own', () => {
    const hand = new Hand({ when: { kind: 'at', at: START + HOUR } });
    hand.comeTo(START + HOUR - 1);
    expect(hand.sent).toEqual([]);
    hand.comeTo(START + HOUR);
    expect(hand.sent).toEqual([
      {
        type: 'session.receive',
        runId: `mail.${START + HOUR}`,
        text: 'look',
        sender: 'schedule look',
        queue: 'followup',
        channel: 'cron',
      },
    ]);
    hand.end();
    expect(runsOf(hand)).toMatchObject([{ dueAt: START + HOUR, status: 'ok' }]);
    expect(hand.live.snapshot.value).toEqual({ idle: 'over' });
    hand.comeTo(hand.now + JOB_RETENTION_MS);
    expect(hand.live.snapshot.status).toBe('done');
  });

  it('continues with its period, and keeps only the last runs', () => {
    const hand = new Hand({ when: { kind: 'every', everyMs: HOUR } });
    for (let fire = 1; fire <= RUNS_KEPT + 5; fire++) {
      hand.comeTo(START + fire * HOUR);
      hand.end();
    }
    expect(hand.context.fires).toBe(RUNS_KEPT + 5);
    expect(hand.context.runs).toHaveLength(RUNS_KEPT);
    expect(hand.context.runs[0]!.dueAt).toBe(START + (RUNS_KEPT + 5) * HOUR);
  });

  const afterAnOutage = (missed: MissedPolicy, away: number): Hand => {
    const hand = new Hand({ when: { kind: 'every', everyMs: HOUR }, missed });
    hand.comeTo(START + away);
    return hand;
  };

  it('fires once for all missed times with `once`', () => {
    const hand = afterAnOutage('once', 5 * HOUR + 30 * MINUTE);
    expect(hand.runIds).toEqual([`mail.${START + 5 * HOUR}`]);
    hand.end();
    expect(hand.context).toMatchObject({ skipped: 4, nextAt: START + 6 * HOUR });
  });

  it('fires for each missed time in order with `fire-late`', () => {
    const hand = afterAnOutage('fire-late', 3 * HOUR + 30 * MINUTE);
    for (let fire = 0; fire < 3; fire++) {
      hand.end();
      hand.comeTo(hand.now);
    }
    expect(hand.runIds).toEqual([1, 2, 3].map((n) => `mail.${START + n * HOUR}`));
    expect(hand.context).toMatchObject({ skipped: 0, nextAt: START + 4 * HOUR });
  });

  it('continues at its next time with `skip`', () => {
    const hand = afterAnOutage('skip', 5 * HOUR + 30 * MINUTE);
    expect(hand.sent).toEqual([]);
    expect(hand.context).toMatchObject({ skipped: 5, nextAt: START + 6 * HOUR });
    hand.comeTo(START + 6 * HOUR + 1_000);
    expect(hand.runIds).toEqual([`mail.${START + 6 * HOUR}`]);
  });

  it('fires for at most a hundred missed times', () => {
    const hand = afterAnOutage('fire-late', 150 * HOUR);
    let last = 0;
    while (hand.context.firing) {
      last = hand.context.firing.dueAt!;
      hand.end();
      hand.comeTo(hand.now);
    }
    expect(hand.context.fires).toBe(100);
    expect(last).toBe(START + 150 * HOUR);
  });

  it('waits for a run that takes longer than its period, and counts those times as missed', () => {
    const hand = new Hand({ when: { kind: 'every', everyMs: MINUTE } });
    hand.comeTo(START + MINUTE);
    hand.comeTo(START + 10 * MINUTE);
    expect(hand.runIds).toHaveLength(1);
    hand.end();
    hand.comeTo(hand.now);
    expect(hand.runIds).toEqual([`mail.${START + MINUTE}`, `mail.${START + 10 * MINUTE}`]);
  });

  it('abandons a run without a report for a day', () => {
    const hand = new Hand({ when: { kind: 'at', at: START + HOUR } });
    hand.comeTo(START + HOUR);
    hand.comeTo(START + 27 * HOUR);
    hand.comeTo(hand.now + MINUTE);
    expect(hand.context.runs[0]!.status).toBe('lost');
  });

  it('continues with future times when it is enabled again', () => {
    const hand = new Hand({ when: { kind: 'every', everyMs: HOUR } });
    hand.say({ type: 'schedule.enable', enabled: false });
    hand.comeTo(START + 5 * HOUR + MINUTE);
    hand.say({ type: 'schedule.enable', enabled: true });
    expect(hand.sent).toEqual([]);
    expect(hand.context.nextAt).toBe(START + 6 * HOUR);
  });

  it.each([
    [{ kind: 'cron', expression: 'every day' }, /every day.*cannot be read/],
    [{ kind: 'cron', expression: '0 9 * * *', timeZone: 'Mars/Base' }, /Mars\/Base/],
    [{ kind: 'cron', expression: '0 0 30 2 *' }, /never occurs/],
    [{ kind: 'at', at: START - 1 }, /has passed/],
    [{ kind: 'every', everyMs: 10 }, /everyMs/],
  ] as const)('is refused with %j and a text that names the fault', (when, words) => {
    const hand = new Hand({ when: { kind: 'every', everyMs: HOUR } });
    const job = { agentId: 'main', text: 'look', when };
    expect(hand.say({ type: 'schedule.put', job })?.error?.message).toMatch(words);
    expect(hand.context.job?.when.kind).toBe('every');
  });
});

describe('a job of a client', () => {
  it('sends its settings to its run', () => {
    const hand = new Hand({
      when: { kind: 'every', everyMs: HOUR },
      model: 'offline/one',
      thinking: 'low',
      timeoutMs: 90_000,
    });
    hand.comeTo(START + HOUR);
    expect(hand.sent).toMatchObject([
      { model: 'offline/one', thinking: 'low', timeoutMs: 90_000, text: 'look' },
    ]);
  });

  it('resets its session before every fire except the first', () => {
    const hand = new Hand({ when: { kind: 'every', everyMs: HOUR }, fresh: true });
    hand.comeTo(START + HOUR);
    hand.end();
    hand.comeTo(START + 2 * HOUR);
    hand.end();
    hand.say({ type: 'schedule.run' });
    const types = hand.sent.map(({ type }) => type);
    expect(types).toEqual([
      'session.receive',
      'session.reset',
      'session.receive',
      'session.reset',
      'session.receive',
    ]);
  });

  it('is removed after its last run succeeded, and kept for inspection after a failure', () => {
    const once = { when: { kind: 'at', at: START + HOUR }, deleteAfterRun: true } as const;
    const well = new Hand(once);
    well.comeTo(START + HOUR);
    well.end();
    expect(well.live.snapshot.status).toBe('done');
    const badly = new Hand(once);
    badly.comeTo(START + HOUR);
    badly.end({ status: 'error', error: { code: 'INTERNAL', message: 'no model' } });
    expect(badly.live.snapshot.value).toEqual({ idle: 'over' });
    expect(runsOf(badly)).toMatchObject([{ status: 'error' }]);
  });

  it('is delayed by the same share of the stagger at each fire', () => {
    const hand = new Hand({
      when: { kind: 'cron', expression: '0 * * * *', staggerMs: 300_000 },
    });
    const late = hand.context.nextAt! - START;
    expect(late).toBeGreaterThan(0);
    expect(late).toBeLessThanOrEqual(300_000);
    hand.comeTo(START + late);
    expect(hand.runIds).toEqual([`mail.${START + late}`]);
    hand.end();
    expect(hand.context.nextAt).toBe(START + HOUR + late);
  });

  it('is changed only if it is still in the state that the caller read', () => {
    const hand = new Hand({ when: { kind: 'every', everyMs: HOUR } });
    const seen = hand.context.updatedAt;
    hand.now += 1;
    const put = (text: string) =>
      hand.say({ type: 'schedule.put', changes: { text }, ifUpdatedAt: seen });
    expect(put('mine')).toMatchObject({ result: { text: 'mine' } });
    expect(put('yours')).toMatchObject({ error: { code: 'CONFLICT' } });
    expect(hand.context.job!.text).toBe('mine');
  });

  // Bug: a repeated `troupe cron add` moved the next time, so a job that was set often never fired.
  it('keeps its next time when it is set again with the same times', () => {
    const when = { kind: 'every', everyMs: HOUR } as const;
    const hand = new Hand({ when });
    hand.comeTo(START + 50 * MINUTE);
    const put = (change: Partial<ScheduleJob>) =>
      hand.say({ type: 'schedule.put', job: { agentId: 'main', text: 'again', when, ...change } });
    expect(put({})).toMatchObject({ result: { nextAt: START + HOUR, text: 'again' } });
    hand.comeTo(START + HOUR);
    expect(hand.runIds).toEqual([`mail.${START + HOUR}`]);
    hand.end();
    const other = { kind: 'every', everyMs: 2 * HOUR } as const;
    hand.now += MINUTE;
    expect(put({ when: other })).toMatchObject({ result: { nextAt: hand.now + 2 * HOUR } });
    put({ when: other, enabled: false });
    hand.now += MINUTE;
    expect(put({ when: other })).toMatchObject({ result: { nextAt: hand.now + 2 * HOUR } });
  });

  it('counts the times that it skipped', () => {
    const hand = new Hand({ when: { kind: 'every', everyMs: HOUR }, missed: 'skip' });
    hand.comeTo(START + 5 * HOUR + 5 * MINUTE);
    expect(runsOf(hand)).toMatchObject([{ status: 'skipped', dueAt: START + 5 * HOUR }]);
    expect(hand.context.skipped).toBe(5);
  });
});

describe('a row of version 1', () => {
  it('sends its results to the address that received its reports', () => {
    const hand = new Hand({ when: { kind: 'every', everyMs: HOUR } });
    hand.comeTo(START + HOUR);
    hand.end();
    hand.comeTo(START + 2 * HOUR);
    const { snapshot } = hand.live;
    const before = structuredClone(snapshot.context) as ScheduleContext;
    const stripped = {
      ...before,
      firing: { ...before.firing!, sessionKey: undefined },
      runs: before.runs.map(({ sessionKey: _, ...fire }) => fire),
    };
    const row = { snap: { v: snapshot.value, c: JSON.parse(JSON.stringify(stripped)) as unknown } };
    const migrated = withPlaces(row as Parameters<typeof withPlaces>[0]);
    expect(migrated.snap.c).toEqual(before);
  });
});

describe('a job whose clock was set back', () => {
  it('fires when the clock shows its time', () => {
    const hand = new Hand({ when: { kind: 'every', everyMs: HOUR } });
    hand.aheadMs = 24 * HOUR;
    hand.now += 24 * HOUR;
    const at = START + HOUR;
    const job = { agentId: 'main', text: 'look', when: { kind: 'at', at } };
    expect(hand.say({ type: 'schedule.put', job })!.error).toBeUndefined();
    hand.comeTo(hand.now + HOUR - 1);
    expect(hand.sent).toEqual([]);
    hand.comeTo(hand.now + 1);
    expect(hand.runIds).toEqual([`mail.${at}`]);
  });

  // Bug: a job that was set with a wrong clock kept its times when it was set again.
  it.each<When>([
    { kind: 'every', everyMs: HOUR },
    { kind: 'cron', expression: '0 * * * *' },
  ])('by days fires in the next hour when it is set again: %j', (when) => {
    const hand = new Hand({ when });
    hand.comeTo(START + 50 * HOUR);
    hand.end();
    hand.aheadMs = 48 * HOUR;
    hand.say({ type: 'schedule.put', job: { agentId: 'main', text: 'look', when } });
    expect(hand.context.nextAt).toBeLessThanOrEqual(hand.now - hand.aheadMs + HOUR);
    const again = new Hand({ when });
    again.aheadMs = 48 * HOUR;
    again.say({ type: 'schedule.put', job: { agentId: 'main', text: 'look', when } });
    expect(again.context.nextAt).toBe(START - 48 * HOUR + HOUR);
  });

  it('by an hour waits for the clock and fires once for each time', () => {
    const hand = new Hand({ when: { kind: 'every', everyMs: HOUR } });
    hand.comeTo(START + HOUR);
    hand.end();
    hand.aheadMs = HOUR;
    hand.comeTo(START + 2 * HOUR);
    expect(hand.runIds).toEqual([`mail.${START + HOUR}`]);
    hand.comeTo(START + 3 * HOUR);
    expect(hand.runIds).toEqual([`mail.${START + HOUR}`, `mail.${START + 2 * HOUR}`]);
  });

  it('by day continues with the times of the clock, each as its own run', () => {
    const hand = new Hand({ when: { kind: 'every', everyMs: HOUR } });
    hand.comeTo(START + HOUR);
    hand.end();
    hand.comeTo(START + 26 * HOUR);
    hand.end();
    hand.aheadMs = 27 * HOUR;
    hand.comeTo(START + 27 * HOUR);
    expect(hand.sent).toHaveLength(2);
    hand.comeTo(START + 28 * HOUR);
    hand.end();
    const [first, second] = [`mail.${START + HOUR}`, `mail.${START + 26 * HOUR}`];
    expect(hand.runIds).toEqual([first, second, `${first}.2`]);
    expect(hand.context.nextAt).toBe(START + 2 * HOUR);
  });
});
