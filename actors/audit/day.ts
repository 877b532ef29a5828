/** Day: the pure parts of the audit's chart. */
import {
  type AuditDayRow,
  type AuditNote,
  AuditNoteSchema,
  AUDITS_INDEX,
} from '../../protocols/audit.ts';
import { checker, describeErrors } from '../../protocols/check.ts';
import type { ActorInput, Append, Delivered, Project, Reply } from '../../protocols/statechart.ts';

export type AuditContext = AuditDayRow;
export type AuditEvent = Delivered<AuditNote>;
type Args = { context: AuditContext; event: AuditEvent };

export const initialContext = ({ key, now }: ActorInput): AuditContext => ({
  day: key,
  records: 0,
  firstAt: now,
  lastAt: now,
});

const check = checker(AuditNoteSchema);
const problemOf = ({ meta: _, ...note }: AuditEvent): string | undefined => {
  const answer = check(note);
  return answer.ok ? undefined : describeErrors(answer.errors);
};
export const isValid = ({ event }: Args): boolean => problemOf(event) === undefined;

export const count = ({ context, event }: Args): Partial<AuditContext> => ({
  records: context.records + event.records.length,
  lastAt: event.meta.now,
});

export const entries = ({ event }: Args): Append => ({
  entries: event.records.map((record) => ({ type: 'audit.record', ...record })),
});
export const row = ({ context }: Args): Project => ({
  index: AUDITS_INDEX,
  key: context.day,
  value: context,
});
export const noted = ({ event }: Args): Reply => ({
  to: event.meta.reply,
  result: { noted: event.records.length },
});
export const unfit = ({ event }: Args): Reply => ({
  to: event.meta.reply,
  error: {
    code: 'INVALID_ARGUMENT',
    message: `nothing was noted: ${problemOf(event) ?? 'it is not a note'}`,
  },
});
