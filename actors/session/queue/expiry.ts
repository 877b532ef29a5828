/**
 * Expiry: whether a session that has no activity ends when a message arrives, because a new day has
 * begun or because it was idle for too long. Pure.
 *
 * Only a message of a person ends a session, and only one counts as its activity: schedules, other
 * agents and reports of subagents continue the conversation that there is. A session with active
 * subagents or unread reports does not expire.
 */
import { nextTime } from '../../../protocols/schedule-times.ts';
import { parseSessionKey } from '../../../protocols/session-key.ts';
import type { SessionReceive } from '../../../protocols/session.ts';
import type { Delivered } from '../../../protocols/statechart.ts';
import type { SessionContext } from '../types.ts';

export type ExpiryReason = 'daily' | 'idle';

/** The channel of messages from schedules. */
const SCHEDULE = 'cron';

export const isOfPerson = ({ origin, terms, channel }: SessionReceive): boolean =>
  !origin && !terms && channel !== SCHEDULE;

/**
 * Why the session ends before this message; undefined: it continues. The settings are those of its
 * last run. A session of an older version has no times of its own and is judged by its last change.
 */
export function expiryReason(
  context: SessionContext,
  message: Delivered<SessionReceive>,
): ExpiryReason | undefined {
  const { settings, startedAt, lastMessageAt, updatedAt } = context;
  if (!settings?.expiry || !isOfPerson(message) || !mayExpire(context)) return undefined;
  const { atHour, timeZone, idleMs } = settings.expiry;
  const { now } = message.meta;
  if (idleMs !== undefined && now - (lastMessageAt ?? updatedAt) > idleMs) return 'idle';
  if (atHour === undefined) return undefined;
  const day = { kind: 'cron', expression: `0 ${atHour} * * *` } as const;
  const next = nextTime(timeZone ? { ...day, timeZone } : day, startedAt ?? updatedAt);
  return next !== undefined && next <= now ? 'daily' : undefined;
}

/** Sessions of jobs, hooks, devices and subagents have an end of their own. */
function mayExpire({ isFresh, sessionKey, children = [], reports = [] }: SessionContext): boolean {
  const isConversation = ['main', 'dm', 'group', 'topic'].includes(
    parseSessionKey(sessionKey).type,
  );
  return isConversation && !isFresh && children.length + reports.length === 0;
}
