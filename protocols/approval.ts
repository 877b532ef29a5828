/**
 * Approval: a question to a user that survives restarts. Messages and rows that the requesting
 * actor, the approval actor and the entry points share.
 */
import { type Static, Type } from '@sinclair/typebox';
import { type Address, address } from './address.ts';
import { escapeToken } from './subjects.ts';

/** Default time for an answer. */
export const APPROVAL_MS_DEFAULT = 24 * 3_600_000;
export const APPROVAL_MS_MAX = 30 * 24 * 3_600_000;
/** How long a decision is kept, so that a late answer is refused with the decision. */
export const APPROVAL_RETENTION_MS = 7 * 24 * 3_600_000;
/** Maximum length of a question's title. */
export const TITLE_CHARACTERS_MAX = 256;
/** The role that may answer. */
export const APPROVER_ROLE = 'operator';

const Text = (maxLength: number) => Type.String({ minLength: 1, maxLength });

export const ApprovalOptionSchema = Type.Object({
  name: Type.String({ pattern: '^[a-z][a-z0-9_-]{0,31}$' }),
  means: Type.Union([Type.Literal('allowed'), Type.Literal('denied')]),
});
/** A possible answer and its effect. */
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
 * To an approval, which it creates. Reply: ApprovalDecision, when a user has decided or the time is
 * up. If the question is sent again, the last sender receives the reply.
 */
export type ApprovalAsk = Static<typeof ApprovalAskSchema>;

/**
 * To an approval, by a user through an entry point. Reply: ApprovalRow; CONFLICT after the
 * decision, FORBIDDEN without the role, NOT_FOUND, INVALID_ARGUMENT for an unknown option.
 */
export type ApprovalAnswer = {
  readonly type: 'approval.answer';
  /** name of an option */
  readonly decision: string;
  readonly why: string;
};

/**
 * To an approval, by the requesting actor: it no longer needs the answer. The question expires at
 * once. A decided question does not change.
 */
export type ApprovalWithdraw = { readonly type: 'approval.withdraw'; readonly why: string };

export type ApprovalDecision = {
  readonly state: 'allowed' | 'denied' | 'expired';
  /** name of the option; absent after expiry */
  readonly decision?: string;
  readonly decided_by?: string;
  /** RFC 3339 */
  readonly decided_at: string;
  readonly why?: string;
};

/** Index `approvals`, key the approval's id. Removed APPROVAL_RETENTION_MS after the decision. */
export const APPROVALS_INDEX = 'approvals';
export type ApprovalRow = {
  readonly id: string;
  readonly asked_at: string;
  readonly expires_at: string;
  /** the requesting actor, or the user */
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
 * On the Bus: notifies the entry points of a new question (`{ id }`). It is ephemeral; the row is
 * the reliable source.
 */
export const approvalsTopic = (tenant: string): string => `approvals.${escapeToken(tenant)}`;

export const approvalAddress = (tenant: string, id: string): Address =>
  address(tenant, 'approval', id);
