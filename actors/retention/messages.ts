/** Messages: the row of a sweeper, its answers and its receipt. Pure. */
import {
  type AuditNote,
  AUDIT_TEXT_CHARACTERS_MAX,
  auditAddress,
  auditDay,
} from '../../protocols/audit.ts';
import {
  RETENTION_INDEX,
  RETENTION_KEY,
  type RetentionRow,
  type RetentionState,
} from '../../protocols/retention.ts';
import type { Project, Reply, Tell } from '../../protocols/statechart.ts';
import type { Args, RetentionContext } from './types.ts';

function rowOf(
  { dueAt, everyMs, open, last, removed, error }: RetentionContext,
  state: RetentionState,
): RetentionRow {
  const sweep = open === null ? last : shown(open);
  return { state, dueAt, everyMs, removed, ...(sweep && { sweep }), ...(error && { error }) };
}

/** A sweep without what only the sweeper needs. */
const shown = ({
  startedAt,
  who,
  found,
  removed,
  skipped,
  held,
  failed,
}: NonNullable<RetentionContext['open']>): NonNullable<RetentionRow['sweep']> => ({
  startedAt,
  who,
  found,
  removed,
  skipped,
  held,
  failed,
});

type OfState = { readonly state: RetentionState };

export const row = ({ context }: Args, { state }: OfState): Project => ({
  index: RETENTION_INDEX,
  key: RETENTION_KEY,
  value: rowOf(context, state),
});
/** To the request that began the sweep, if it is not answered. */
export const answer = ({ context }: Args, { state }: OfState): Reply => ({
  to: context.reply ?? undefined,
  result: rowOf(context, state),
});
export const isUnderWay = ({ context, event }: Args): Reply => ({
  to: event.meta.reply,
  result: rowOf(context, 'sweeping'),
});

/** What the audit keeps: who, when, and how much of each kind. No content. */
export const receipt = ({ context, event }: Args): Tell => {
  const { who, removed, skipped, held, failed } = context.last!;
  const { now } = event.meta;
  const errors = Object.values(failed);
  const counts = Object.fromEntries(
    Object.entries({ ...removed, skipped, held }).map(([name, count]) => [name, `${count}`]),
  );
  const note: AuditNote = {
    type: 'audit.note',
    records: [
      {
        at: now,
        who: who.slice(0, AUDIT_TEXT_CHARACTERS_MAX),
        by: 'retention',
        action: 'retention.sweep',
        on: counts,
        outcome: errors.length === 0 ? 'done' : 'failed',
        ...(errors[0] && { code: errors[0].code }),
      },
    ],
  };
  return { to: auditAddress(context.tenant, auditDay(now)), event: note };
};
