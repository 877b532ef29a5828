/**
 * The times of a schedule: pure functions of the settings and a time. croner parses the cron
 * expressions but schedules nothing.
 *
 * When clocks go back, a repeated local time fires once, the first time. When clocks go forward, a
 * skipped local time fires at the change. Expressions without an hour follow elapsed time and skip
 * nothing.
 */
import { Cron } from 'croner';
import { LATE_FIRES_MAX, type When } from './schedule.ts';

/**
 * The first time after `after`; undefined when there is none. `when` has passed `faultIn`. Every
 * time of a cron expression is delayed by `lateMs`.
 */
export function nextTime(when: When, after: number, lateMs = 0): number | undefined {
  switch (when.kind) {
    case 'at':
      return when.at > after ? when.at : undefined;
    case 'every': {
      const { everyMs, from = 0 } = when;
      if (after < from) return from;
      return from + (Math.floor((after - from) / everyMs) + 1) * everyMs;
    }
    case 'cron': {
      const time = cronOf(when)
        .nextRun(new Date(after - lateMs))
        ?.getTime();
      return time === undefined ? undefined : time + lateMs;
    }
  }
}

/**
 * The times in (`after`, `until`], oldest first; only the last LATE_FIRES_MAX. `after` is a due
 * time or precedes the first one.
 */
export function timesBetween(
  when: When,
  after: number,
  until: number,
  lateMs = 0,
): readonly number[] {
  const next = nextTime(when, after, lateMs);
  if (next === undefined || next > until) return [];
  if (when.kind === 'cron') {
    // croner excludes the reference time when it searches backwards.
    const found = cronOf(when).previousRuns(LATE_FIRES_MAX, new Date(until - lateMs + 1_000));
    return found
      .map((date) => date.getTime() + lateMs)
      .filter((time) => time > after && time <= until)
      .toSorted((a, b) => a - b);
  }
  const times: number[] = [];
  const from = when.kind === 'every' ? until - when.everyMs * LATE_FIRES_MAX : after;
  let time = nextTime(when, Math.max(after, from));
  for (; time !== undefined && time <= until; time = nextTime(when, time)) times.push(time);
  return times;
}

/** What is wrong with the setting, for the user; undefined when it has a time after `now`. */
export function faultIn(when: When, now: number): string | undefined {
  if (when.kind === 'at' && when.at <= now)
    return `the time ${new Date(when.at).toISOString()} has passed: give a later one`;
  try {
    if (nextTime(when, now) !== undefined) return undefined;
  } catch (error) {
    return `${described(when)} cannot be read: ${(error as Error).message}`;
  }
  return `${described(when)} never occurs`;
}

/** The form displayed in lists: `0 9 * * 1-5 (Europe/Berlin)`. */
export function described(when: When): string {
  switch (when.kind) {
    case 'at':
      return `at ${new Date(when.at).toISOString()}`;
    case 'every':
      return `every ${when.everyMs / 1_000} s`;
    case 'cron':
      return `${when.expression} (${when.timeZone ?? 'UTC'})`;
  }
}

const cronOf = ({ expression, timeZone = 'UTC' }: When & { kind: 'cron' }): Cron =>
  new Cron(expression, { timezone: timeZone, paused: true, mode: '5-or-6-parts' });
