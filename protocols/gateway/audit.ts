/** `audit.actions.list` (extension): who did what through the gateway's entry points. */
import { type Static, Type } from '@sinclair/typebox';
import { AUDIT_DAY, AuditRecordSchema } from '../audit.ts';
import type { MethodArea } from './method.ts';
import { closed, Count, NonEmpty, Optional } from './shapes.ts';

export const AuditActionsListParams = Type.Object(
  {
    /** UTC, `YYYY-MM-DD`; default the newest day that has records */
    day: Optional(Type.String({ pattern: AUDIT_DAY.source })),
    /** only records before this position; default the newest */
    before: Optional(Type.Integer({ minimum: 1 })),
    limit: Optional(Type.Integer({ minimum: 1, maximum: 500 })),
    /** only of this principal */
    who: Optional(NonEmpty),
    /** only of actions with this prefix, such as `device.` */
    action: Optional(NonEmpty),
  },
  closed,
);
export type AuditActionsListParams = Static<typeof AuditActionsListParams>;

const Day = Type.Object({ day: NonEmpty, records: Count, firstAt: Count, lastAt: Count }, closed);

/** `records`: newest first; `nextBefore` is present when there may be older ones. */
export const AuditActionsListResult = Type.Object(
  {
    day: Optional(NonEmpty),
    days: Type.Array(Day),
    records: Type.Array(
      Type.Composite([AuditRecordSchema, Type.Object({ position: Count })], closed),
    ),
    nextBefore: Optional(Count),
  },
  closed,
);
export type AuditActionsListResult = Static<typeof AuditActionsListResult>;

export const auditMethods = {
  'audit.actions.list': {
    params: AuditActionsListParams,
    result: AuditActionsListResult,
    scope: 'operator.admin',
  },
} as const satisfies MethodArea;
