/**
 * Audit: who did what through the entry points of the gateway. One actor per tenant and UTC day
 * stores the records in its transcript: `{tenant}/audit/{YYYY-MM-DD}`.
 *
 * A record contains the principal, the operation and its target; never a message, a parameter's
 * text or a secret.
 */
import { type Static, Type } from '@sinclair/typebox';
import { AnyKey } from './any-key.ts';
import { type Address, address } from './address.ts';

/** Records in one message to the actor. */
export const AUDIT_BATCH_MAX = 500;
/** Maximum number of target ids in a record, and maximum length of an id. */
export const AUDIT_TARGETS_MAX = 8;
export const AUDIT_TEXT_CHARACTERS_MAX = 200;

const Text = Type.String({ minLength: 1, maxLength: AUDIT_TEXT_CHARACTERS_MAX });

/**
 * - `begun`: the operation was authorized; written before it runs if it grants or revokes rights.
 * - `done`, `failed`: the result; `code` is the reason of a failure.
 * - `refused`: the operation was not authorized.
 */
export const AUDIT_OUTCOMES = ['begun', 'done', 'failed', 'refused'] as const;

export const AuditRecordSchema = Type.Object(
  {
    /** epoch milliseconds */
    at: Type.Integer({ minimum: 0 }),
    /** the principal; of a refused connect the name that the client sent */
    who: Text,
    /** the authentication: token, device-token, tailscale, …; `operator-api` for plain HTTP */
    by: Text,
    deviceId: Type.Optional(Text),
    ip: Type.Optional(Text),
    /** a method of the gateway, `connect`, or `POST /v1/…` */
    action: Text,
    /** ids of the target, by parameter name */
    on: Type.Optional(Type.Record(AnyKey, Text, { maxProperties: AUDIT_TARGETS_MAX })),
    outcome: Type.Union(AUDIT_OUTCOMES.map((outcome) => Type.Literal(outcome))),
    code: Type.Optional(Text),
    /** common to the records of one request */
    requestId: Type.Optional(Text),
    /** the gateway, by its boot id */
    gateway: Type.Optional(Text),
  },
  { additionalProperties: false },
);
export type AuditRecord = Static<typeof AuditRecordSchema>;

export const AuditNoteSchema = Type.Object(
  {
    type: Type.Literal('audit.note'),
    records: Type.Array(AuditRecordSchema, { minItems: 1, maxItems: AUDIT_BATCH_MAX }),
  },
  { additionalProperties: false },
);
/** To the actor of the day. Reply: { noted: number }; INVALID_ARGUMENT stores nothing. */
export type AuditNote = Static<typeof AuditNoteSchema>;

/** Index `audits`, key the day. */
export const AUDITS_INDEX = 'audits';
export type AuditDayRow = {
  readonly day: string;
  readonly records: number;
  readonly firstAt: number;
  readonly lastAt: number;
};

export const AUDIT_DAY = /^\d{4}-\d{2}-\d{2}$/;
export const auditDay = (atMs: number): string => new Date(atMs).toISOString().slice(0, 10);
export const auditAddress = (tenant: string, day: string): Address => address(tenant, 'audit', day);
