/**
 * The Verifier agent: checks the results of other agents, stores what it found as a file, and
 * returns a verdict. It reads committed rows as of the start of the check, never the reports of the
 * agent that did the work, and waits until they reach this worker.
 */
import { Type } from '@sinclair/typebox';
import {
  contentHashOf,
  documentAddress,
  type DocumentIndexRow,
  DOCUMENTS_INDEX,
} from '../protocols/document.ts';
import type { Payload } from '../protocols/envelope.ts';
import {
  notificationAddress,
  type NotificationRow,
  NOTIFICATIONS_INDEX,
} from '../protocols/notification.ts';
import { type Evidence, EvidenceSchema } from '../protocols/task.ts';
import { type ActionContext, type ActionDefinition, defineAction } from '../actors/task/action.ts';

const JobId = Type.String({
  minLength: 1,
  maxLength: 128,
  description: 'the job to which the verification belongs',
});

type DocumentClaim = {
  readonly job_id: string;
  readonly document_id: string;
  readonly version: number;
  readonly content_hash: string | null;
};
type NotificationClaim = {
  readonly job_id: string;
  readonly notification_id: string;
  readonly to: string;
};

export const verifierActions = (): readonly ActionDefinition[] => [
  defineAction({
    action: 'verifier.verify_document',
    version: '1.0.0',
    description:
      'Verifies that a document has this version and this content (null: it does not exist).',
    agent: 'verifier',
    schemas: {
      '1.0': Type.Object({
        job_id: JobId,
        document_id: Type.String({ minLength: 1, maxLength: 128 }),
        version: Type.Integer({ minimum: 0 }),
        content_hash: Type.Union([Type.String({ pattern: '^[0-9a-f]{64}$' }), Type.Null()]),
      }),
    },
    result: EvidenceSchema,
    evidence: true,
    perform: (payload, context) => verifyDocument(claim<DocumentClaim>(payload), context),
  }),
  defineAction({
    action: 'verifier.verify_notification',
    version: '1.0.0',
    description: 'Verifies that a notification was sent to the given receiver.',
    agent: 'verifier',
    schemas: {
      '1.0': Type.Object({
        job_id: JobId,
        notification_id: Type.String({ minLength: 1, maxLength: 128 }),
        to: Type.String({ minLength: 1, maxLength: 256 }),
      }),
    },
    result: EvidenceSchema,
    evidence: true,
    perform: (payload, context) => verifyNotification(claim<NotificationClaim>(payload), context),
  }),
];

/** The payload was validated against the action's schema. */
const claim = <Claim>(payload: Payload): Claim => payload as unknown as Claim;

async function verifyDocument(wanted: DocumentClaim, context: ActionContext): Promise<Evidence> {
  const { document_id: id } = wanted;
  const rows = await context.index(documentAddress(context.tenant, id));
  const row = rows.get<DocumentIndexRow>(DOCUMENTS_INDEX, context.tenant, id);
  const faults = documentFaults(wanted, row);
  return evidence(wanted.job_id, 'document', { claim: wanted, seen: row ?? null }, faults, context);
}

/**
 * Whether this version was written with this content; later versions may exist. For the current
 * version it hashes the content itself instead of trusting the hash in its row.
 */
function documentFaults(claimed: DocumentClaim, row?: DocumentIndexRow): string[] {
  const { version, content_hash } = claimed;
  const newest = row?.version ?? 0;
  if (version > newest) return [`its version is ${newest}, not ${version}`];
  const hash = version === newest ? presentHash(row) : hashBefore(version, row);
  if (hash === undefined) return [`its version is ${newest}, and ${version} is not kept any more`];
  if (hash === content_hash) return [];
  return [`its content is ${hash ?? 'not there'}, not ${content_hash ?? 'gone'}`];
}

function presentHash(row?: DocumentIndexRow): string | null {
  const content = row?.content ?? null;
  return content === null ? null : contentHashOf(content);
}

const hashBefore = (version: number, row?: DocumentIndexRow): string | null | undefined =>
  row?.history.find((one) => one.version === version)?.content_hash;

async function verifyNotification(
  wanted: NotificationClaim,
  context: ActionContext,
): Promise<Evidence> {
  const { notification_id: id, to } = wanted;
  const rows = await context.index(notificationAddress(context.tenant, id));
  const row = rows.get<NotificationRow>(NOTIFICATIONS_INDEX, context.tenant, id);
  const faults = [
    ...(row?.state === 'sent' ? [] : [`it is ${row?.state ?? 'not there'}, not sent`]),
    ...(row && row.to !== to ? [`it went to ${row.to}, not to ${to}`] : []),
  ];
  const seen = { claim: wanted, seen: row ?? null };
  return evidence(wanted.job_id, 'notification', seen, faults, context);
}

async function evidence(
  jobId: string,
  kind: string,
  saw: unknown,
  faults: readonly string[],
  context: ActionContext,
): Promise<Evidence> {
  const { tenant, artifacts, taskId } = context;
  const at = new Date(context.now()).toISOString();
  const record = JSON.stringify({ job_id: jobId, task_id: taskId, at, ...(saw as object) });
  const { hash } = await artifacts.put(tenant, Buffer.from(record), {
    contentType: 'application/json',
  });
  return {
    job_id: jobId,
    verified: faults.length === 0,
    ...(await artifacts.sign(tenant, hash)),
    evidence_ts: at,
    source_kind: kind,
    verifier: 'verifier',
    detail: faults.length === 0 ? `the ${kind} is as it should be` : faults.join('; '),
  };
}
