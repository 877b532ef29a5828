/**
 * Approval: a question to a person that outlives processes (EN13). The vocabulary between who asks,
 * the approval actor, and the doors by which people answer.
 */
import { type Static, Type } from '@sinclair/typebox';
import { type Address, address } from './address.ts';
import { escapeToken } from './subjects.ts';

/** How long a person has, unless the asker says otherwise. */
export const APPROVAL_MS_DEFAULT = 24 * 3_600_000;
export const APPROVAL_MS_MAX = 30 * 24 * 3_600_000;
/** What was decided is remembered so long: who comes late is told who was first. */
export const APPROVAL_RETENTION_MS = 7 * 24 * 3_600_000;
/** Longest title of a question. */
export const TITLE_CHARACTERS_MAX = 256;
/** Whoever answers has this role. */
export const APPROVER_ROLE = 'operator';

const Text = (maxLength: number) => Type.String({ minLength: 1, maxLength });

export const ApprovalOptionSchema = Type.Object({
  name: Type.String({ pattern: '^[a-z][a-z0-9_-]{0,31}$' }),
  means: Type.Union([Type.Literal('allowed'), Type.Literal('denied')]),
});
/** One answer that may be given, and what it comes to. */
export type ApprovalOption = Static<typeof ApprovalOptionSchema>;

export const ALLOW_OR_DENY: readonly ApprovalOption[] = [
  { name: 'allow', means: 'allowed' },
  { name: 'deny', means: 'denied' },
];

export const ApprovalAskSchema = Type.Object({
  type: Type.Literal('approval.ask'),
  title: Text(TITLE_CHARACTERS_MAX),
  detail: Type.Optional(Type.String({ maxLength: 8_192 })),
  options: Type.Optional(Type.Array(ApprovalOptionSchema, { minItems: 1, maxItems: 8 })),
  forMs: Type.Optional(Type.Integer({ minimum: 1, maximum: APPROVAL_MS_MAX })),
});
/**
 * To an approval, which it creates. Answer: ApprovalDecision, when a person has decided or the time
 * is up. Asked again, the newest question is answered.
 */
export type ApprovalAsk = Static<typeof ApprovalAskSchema>;

/**
 * To an approval, by a person through a door. Answer: ApprovalRow; CONFLICT when it is decided
 * already, FORBIDDEN without the role, NOT_FOUND, INVALID_ARGUMENT for what is no option.
 */
export type ApprovalAnswer = {
  readonly type: 'approval.answer';
  /** name of an option */
  readonly decision: string;
  readonly why: string;
};

/**
 * To an approval, by who asked: nobody waits for the answer any more. It expires at once, and
 * whoever answers later is told so. One that is decided stays as it is.
 */
export type ApprovalWithdraw = { readonly type: 'approval.withdraw'; readonly why: string };

export type ApprovalDecision = {
  readonly state: 'allowed' | 'denied' | 'expired';
  /** name of the option; absent when the time was up */
  readonly decision?: string;
  readonly decided_by?: string;
  /** RFC 3339 */
  readonly decided_at: string;
  readonly why?: string;
};

/** Index `approvals`, key the approval's id. Leaves APPROVAL_RETENTION_MS after the decision. */
export const APPROVALS_INDEX = 'approvals';
export type ApprovalRow = {
  readonly id: string;
  readonly asked_at: string;
  readonly expires_at: string;
  /** the actor that asked, or the person */
  readonly by: string;
  readonly title: string;
  readonly detail: string;
  readonly options: readonly ApprovalOption[];
  readonly state: 'asked' | ApprovalDecision['state'];
  readonly decision?: string;
  readonly decided_by?: string;
  readonly decided_at?: string;
  readonly why?: string;
};

/**
 * On the Bus: doors tell each other that a question was asked (`{ id }`). Ephemeral: who missed it
 * finds the row.
 */
export const approvalsTopic = (tenant: string): string => `approvals.${escapeToken(tenant)}`;

export const approvalAddress = (tenant: string, id: string): Address =>
  address(tenant, 'approval', id);
