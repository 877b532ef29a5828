/**
 * Audit: who did what through the gateways' doors (GW3, SX4). One actor per tenant and UTC day
 * keeps the records in its transcript: `{tenant}/audit/{YYYY-MM-DD}`.
 *
 * A record names who, what and on what; never a message, a parameter's text or a secret.
 */
import { type Static, Type } from '@sinclair/typebox';
import { type Address, address } from './address.ts';

/** Records of one message to the actor. */
export const AUDIT_BATCH_MAX = 500;
/** Ids that a record names of what was acted on, and the longest one. */
export const AUDIT_TARGETS_MAX = 8;
export const AUDIT_TEXT_CHARACTERS_MAX = 200;

const Text = Type.String({ minLength: 1, maxLength: AUDIT_TEXT_CHARACTERS_MAX });

/**
 * - `begun`: it was let through and is about to be done; written before it is done, where it gives
 *   rights or takes them.
 * - `done`, `failed`: how it ended; `code` says why it failed.
 * - `refused`: it was not let through.
 */
export const AUDIT_OUTCOMES = ['begun', 'done', 'failed', 'refused'] as const;

export const AuditRecordSchema = Type.Object(
  {
    /** epoch milliseconds */
    at: Type.Integer({ minimum: 0 }),
    /** the principal; of a refused connect what it called itself */
    who: Text,
    /** what let it in: token, device-token, tailscale, …; `operator-api` for plain HTTP */
    by: Text,
    deviceId: Type.Optional(Text),
    ip: Type.Optional(Text),
    /** a method of the gateway, `connect`, or `POST /v1/…` */
    action: Text,
    /** ids of what it was done to, by the names of the parameters */
    on: Type.Optional(Type.Record(Text, Text, { maxProperties: AUDIT_TARGETS_MAX })),
    outcome: Type.Union(AUDIT_OUTCOMES.map((outcome) => Type.Literal(outcome))),
    code: Type.Optional(Text),
    /** the same of one request's records */
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
/** To the actor of the day. Answer: { noted: number }; INVALID_ARGUMENT notes nothing. */
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
