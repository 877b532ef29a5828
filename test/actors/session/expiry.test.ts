/** A session that starts over by the day or after a pause, when the next message arrives. */
import { describe, expect, it } from 'vitest';
import { address } from '../../../protocols/address.ts';
import type { SessionExpiry } from '../../../protocols/agent.ts';
import { answer, ASSEMBLED, Driven } from './driven.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** A session whose first run has ended, with hooks for its end or without. */
function ended(expiry: SessionExpiry, { sessionKey = 'agent:main:main', endHooks = false } = {}) {
  const session = new Driven(sessionKey);
  session.begin('r1', { expiry });
  session.done('model', {
    ...answer([]),
    assembled: { ...ASSEMBLED, ...(endHooks && { endHooks }) },
  });
  expect(session.state).toBe('idle');
  return session;
}
/** The reasons of the resets in the transcript. */
const resets = ({ entries }: Driven) =>
  entries.flatMap((entry) => (entry.type === 'reset' ? [entry.reason] : []));

describe('a session with a time limit for pauses', () => {
  const expiry = { idleMs: 30 * MINUTE };

  it('starts over with a new id before the run of the message that comes too late', () => {
    const session = ended(expiry);
    const before = session.context;
    session.pass(31 * MINUTE);
    const said = session.receive('r2');
    expect(said.answers[0]).toMatchObject({ result: { runId: 'r2', status: 'accepted' } });
    expect(resets(session)).toEqual(['idle']);
    expect(session.entries.map(({ type }) => type).slice(-2)).toEqual(['reset', 'user']);
    expect(session.context).toMatchObject({ isFresh: true, run: { runId: 'r2' } });
    expect(session.context.sessionId).not.toBe(before.sessionId);
    session.admit('r2', { expiry });
    session.done('model', answer([]));
    expect(session.rows.get('r2')).toMatchObject({ status: 'ok' });
    session.receive('r3');
    expect(resets(session)).toEqual(['idle']);
  });

  it('calls the hooks of the end first, and the message waits for them', () => {
    const session = ended(expiry, { endHooks: true });
    const { sessionId } = session.context;
    session.pass(31 * MINUTE);
    session.receive('r2');
    expect(session.state).toBe('parting');
    expect(session.started.get('farewell')).toMatchObject({ ended: { sessionId, reason: 'idle' } });
    expect(session.rows.get('r2')).toMatchObject({ status: 'queued' });
    session.done('farewell', null);
    expect(session.context.run).toMatchObject({ runId: 'r2' });
    expect(session.started.get('model') ?? {}).not.toHaveProperty('ended');
  });

  it('continues within the limit; only messages of people count as activity', () => {
    const session = ended(expiry);
    session.pass(29 * MINUTE);
    session.send({ type: 'session.set', label: 'mine' });
    session.send({ type: 'session.inject', text: 'a note' });
    session.receive('s1', { channel: 'cron' }, address('default', 'schedule', 's'));
    expect(resets(session)).toEqual([]);
    session.admit('s1', { expiry });
    session.done('model', answer([]));
    session.pass(2 * MINUTE);
    session.receive('r2');
    expect(resets(session)).toEqual(['idle']);
  });

  it('is not reset by schedules, agents or commands, nor while it runs', () => {
    const session = ended(expiry);
    session.pass(2 * HOUR);
    session.receive('s1', { channel: 'cron' }, address('default', 'schedule', 's'));
    session.admit('s1', { expiry });
    session.pass(2 * HOUR);
    session.receive('r2', { queue: 'steer' });
    session.done('model', answer([]));
    expect(resets(session)).toEqual([]);
  });

  it('does not apply to sessions of jobs, hooks and devices', () => {
    for (const sessionKey of ['agent:main:cron:j', 'agent:main:node:n', 'agent:main:hook:h']) {
      const session = ended(expiry, { sessionKey });
      session.pass(2 * HOUR);
      session.receive('r2');
      expect(resets(session)).toEqual([]);
    }
  });
});

describe('a session with a daily hour', () => {
  /** The clock of a driven session begins at the epoch, 00:00 UTC. */
  const restarts = (expiry: SessionExpiry, ...pauses: readonly number[]) => {
    const session = ended(expiry);
    return pauses.map((ms, index) => {
      const before = resets(session).length;
      session.pass(ms);
      session.receive(`m${index}`);
      session.admit(`m${index}`, { expiry });
      session.done('model', answer([]));
      return resets(session).length > before;
    });
  };

  it('starts over once at the first message after that hour', () => {
    expect(restarts({ atHour: 4 }, 3 * HOUR, HOUR, HOUR, 22 * HOUR, HOUR)).toEqual([
      false, // 03:00
      true, // 04:00
      false, // 05:00
      false, // 03:00 on the next day
      true, // 04:00
    ]);
  });

  it('follows the time zone, also when its clocks change', () => {
    // 00:00 UTC is 07:00 in Ho Chi Minh City (08:00 until 1975), so 4 o'clock is at 20:00 UTC
    const zone = { atHour: 4, timeZone: 'Asia/Ho_Chi_Minh' };
    expect(restarts(zone, 19 * HOUR, 2 * HOUR)).toEqual([false, true]);
    expect(restarts({ atHour: 4 }, 19 * HOUR, 2 * HOUR)).toEqual([true, false]);
    // 2026-03-29: the clocks of Berlin go forward from 02:00 to 03:00, at 01:00 UTC
    const spring = Date.UTC(2026, 2, 29) - 2 * HOUR;
    const berlin = { atHour: 2, timeZone: 'Europe/Berlin' };
    expect(restarts(berlin, spring, 2 * HOUR + 50 * MINUTE, 20 * MINUTE)).toEqual([
      true,
      false,
      true,
    ]);
  });

  it('ends at whichever comes first', () => {
    const session = ended({ atHour: 4, idleMs: 30 * MINUTE });
    session.pass(6 * HOUR);
    session.receive('r2');
    expect(resets(session)).toEqual(['idle']);
  });
});
