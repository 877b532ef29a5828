/**
 * Question: the pure parts of the approval's chart: the question, who may decide, and the answers.
 */
import {
  ALLOW_OR_DENY,
  APPROVAL_MS_DEFAULT,
  type ApprovalAnswer,
  type ApprovalAsk,
  ApprovalAskSchema,
  type ApprovalDecision,
  type ApprovalOption,
  type ApprovalRow,
  APPROVALS_INDEX,
  APPROVER_ROLE,
  type ApprovalWithdraw,
} from '../../protocols/approval.ts';
import { checker, describeErrors } from '../../protocols/check.ts';
import type { ErrorCode } from '../../protocols/errors.ts';
import type {
  ActorInput,
  Delivered,
  Project,
  Reply,
  ReplyRef,
} from '../../protocols/statechart.ts';

export type ApprovalContext = {
  readonly id: string;
  /** absent until the first request */
  readonly row: ApprovalRow | null;
  readonly forMs: number;
  /** of the newest question */
  readonly asker: ReplyRef | null;
};
export type ApprovalEvent =
  | Delivered<ApprovalAsk>
  | Delivered<ApprovalAnswer>
  | Delivered<ApprovalWithdraw>;
type Args = { context: ApprovalContext; event: ApprovalEvent };

export const initialContext = ({ key }: ActorInput): ApprovalContext => ({
  id: key,
  row: null,
  forMs: APPROVAL_MS_DEFAULT,
  asker: null,
});

const checkAsk = checker(ApprovalAskSchema);
const problemOf = ({ meta: _, ...ask }: Delivered<ApprovalAsk>): string | undefined => {
  const answer = checkAsk(ask);
  return answer.ok ? undefined : describeErrors(answer.errors);
};
export const isValid = ({ event }: Args): boolean =>
  event.type === 'approval.ask' && problemOf(event) === undefined;

const iso = (at: number): string => new Date(at).toISOString();

export const ask = ({ context, event }: Args): Partial<ApprovalContext> => {
  if (event.type !== 'approval.ask') return {};
  const { meta, title, detail = '', options = ALLOW_OR_DENY } = event;
  const forMs = event.forMs ?? APPROVAL_MS_DEFAULT;
  const row: ApprovalRow = {
    id: context.id,
    asked_at: iso(meta.now),
    expires_at: iso(meta.now + forMs),
    by: meta.from ?? meta.principal?.sub ?? 'unknown',
    title,
    detail,
    options,
    state: 'asked',
  };
  return { row, forMs, asker: meta.reply ?? null };
};

export const keepAsker = ({ context, event }: Args): Partial<ApprovalContext> => ({
  asker: event.meta.reply ?? context.asker,
});

/** Operators decide, through an entry point; a message of an actor is never a decision. */
export const isByOperator = ({ event: { meta } }: Args): boolean =>
  meta.from === undefined && (meta.principal?.roles.includes(APPROVER_ROLE) ?? false);

const chosen = ({ context, event }: Args): ApprovalOption | undefined =>
  event.type === 'approval.answer'
    ? context.row?.options.find(({ name }) => name === event.decision)
    : undefined;
export const means = (args: Args, what: ApprovalOption['means']): boolean =>
  isByOperator(args) && chosen(args)?.means === what;

export const decide = (args: Args): Partial<ApprovalContext> => {
  const { context, event } = args;
  const option = chosen(args);
  if (event.type !== 'approval.answer' || !context.row || !option) return {};
  const row: ApprovalRow = {
    ...context.row,
    state: option.means,
    decision: option.name,
    decided_by: event.meta.principal?.sub ?? '',
    decided_at: iso(event.meta.now),
    why: typeof event.why === 'string' ? event.why.slice(0, 4_096) : '',
  };
  return { row };
};

export const expire = ({ context, event }: Args): Partial<ApprovalContext> =>
  context.row ? { row: { ...context.row, state: 'expired', decided_at: iso(event.meta.now) } } : {};

/** Only the requester may withdraw the question. */
export const isByAsker = ({ context, event: { meta } }: Args): boolean =>
  meta.from !== undefined && meta.from === context.row?.by;

export const withdraw = (args: Args): Partial<ApprovalContext> => {
  const { row } = expire(args);
  const { event } = args;
  return event.type === 'approval.withdraw' && row
    ? { row: { ...row, why: event.why.slice(0, 4_096) } }
    : {};
};

export const unasked = (args: Args): Reply =>
  refusal(args, 'NOT_FOUND', `approval ${args.context.id} was not asked for by you`);

// ---- answers

export const project = ({ context }: Args): Project => ({
  index: APPROVALS_INDEX,
  key: context.id,
  value: context.row,
});
export const unproject = ({ context }: Args): Project => ({
  index: APPROVALS_INDEX,
  key: context.id,
  value: null,
});

const decisionOf = (row: ApprovalRow): ApprovalDecision => ({
  state: row.state as ApprovalDecision['state'],
  decided_at: row.decided_at!,
  ...(row.decision === undefined ? {} : { decision: row.decision }),
  ...(row.decided_by === undefined ? {} : { decided_by: row.decided_by }),
  ...(row.why === undefined ? {} : { why: row.why }),
});

/** To the requester. */
export const decided = ({ context }: Args): Reply => ({
  to: context.asker ?? undefined,
  result: decisionOf(context.row!),
});
/** To the operator who decided. */
export const taken = ({ context, event }: Args): Reply => ({
  to: event.meta.reply,
  result: context.row,
});
/** To a requester after the decision. */
export const decidedBefore = ({ context, event }: Args): Reply => ({
  to: event.meta.reply,
  result: decisionOf(context.row!),
});

const refusal = (
  { event }: Args,
  code: ErrorCode,
  message: string,
  details?: Record<string, unknown>,
): Reply => ({ to: event.meta.reply, error: { code, message, ...(details ? { details } : {}) } });

export const unfit = (args: Args): Reply => {
  const why = args.event.type === 'approval.ask' ? problemOf(args.event) : undefined;
  return refusal(args, 'INVALID_ARGUMENT', `the approval cannot be asked for: ${why}`);
};

export const unknown = (args: Args): Reply =>
  refusal(
    args,
    'NOT_FOUND',
    `there is no approval ${args.context.id}: \`troupe approvals list\` shows those that wait`,
  );

/** Why an answer to a pending approval is refused. */
export const refused = (args: Args): Reply => {
  const { context, event } = args;
  if (!isByOperator(args)) {
    return refusal(
      args,
      'FORBIDDEN',
      `approval ${context.id} is decided by a principal with the role ${APPROVER_ROLE}`,
    );
  }
  const names = context.row!.options.map(({ name }) => name);
  const given = event.type === 'approval.answer' ? event.decision.slice(0, 80) : '';
  return refusal(
    args,
    'INVALID_ARGUMENT',
    `${JSON.stringify(given)} is not an answer to approval ${context.id}: give one of ${names.join(', ')}`,
    { options: names },
  );
};

/** The error for a later answer; it names the principal of the first one. */
export const late = (args: Args): Reply => {
  const { id, row } = args.context;
  const { state, decided_by: by, decided_at: at, decision } = row!;
  const message =
    state === 'expired'
      ? `approval ${id} expired at ${at}: it was not decided in time`
      : `approval ${id} was decided already: ${decision} by ${by} at ${at}`;
  return refusal(args, 'CONFLICT', message, { ...decisionOf(row!) });
};
