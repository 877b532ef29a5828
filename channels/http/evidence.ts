/**
 * `GET /evidence/{job_id}`: the findings of verifiers about a job of the caller's tenant, oldest
 * first, if the caller may reach the tasks that verified it. Each file has a newly signed URL.
 */
import { TroupeError } from '../../protocols/errors.ts';
import {
  EVIDENCE_INDEX,
  evidencePrefix,
  type EvidenceRow,
  type TaskOwner,
  type TaskRow,
  TASKS_INDEX,
} from '../../protocols/task.ts';
import type { Artifacts, Index } from '../../runtime/index.ts';
import type { Caller, Identity } from '../edge/edge.ts';
import type { Offers } from '../../protocols/offers.ts';
import { mayReach } from '../edge/task-service.ts';
import { credentialsOf } from './envelopes.ts';
import { type Route, sendJson } from './route.ts';

export type EvidenceOptions = {
  readonly index: Pick<Index, 'list' | 'get'>;
  readonly offers: Pick<Offers, 'find'>;
  readonly artifacts: Pick<Artifacts, 'sign'>;
};
export type EvidenceRoutesOptions = EvidenceOptions & {
  readonly identity: Pick<Identity, 'authenticate'>;
};

/** Jobs have few findings. */
const RECORDS_MAX = 1_000;

/** An entry of an earlier version whose task has been deleted has no principal. */
const FORGOTTEN: TaskOwner = { principal: '', action: '', action_version: '' };

export const evidenceRoutes = (options: EvidenceRoutesOptions): readonly Route[] => [
  {
    method: 'GET',
    path: '/evidence/{job_id}',
    handle: async (incoming) => {
      const caller = await options.identity.authenticate(credentialsOf(incoming));
      sendJson(
        incoming.response,
        200,
        await evidenceOf(options, caller, incoming.params['job_id']!),
      );
    },
  },
];

/** The findings about a job. @throws TroupeError NOT_FOUND */
export async function evidenceOf(
  { index, offers, artifacts }: EvidenceOptions,
  caller: Pick<Caller, 'tenant' | 'sub' | 'roles'>,
  job_id: string,
): Promise<{ readonly job_id: string; readonly records: readonly object[] }> {
  const { tenant } = caller;
  const prefix = evidencePrefix(job_id);
  const ownerOf = (key: string) =>
    index.get<TaskRow>(TASKS_INDEX, tenant, key.slice(prefix.length))?.view ?? FORGOTTEN;
  const rows = index
    .list<EvidenceRow>(EVIDENCE_INDEX, tenant, { prefix, limit: RECORDS_MAX })
    .map(({ key, value: { task = ownerOf(key), ...evidence } }) => ({ task, evidence }))
    .filter(({ task }) => mayReach(offers, task, caller));
  if (rows.length === 0)
    throw new TroupeError('NOT_FOUND', `no verifier has reported about the job ${job_id}`);
  const signed = rows.map(async ({ evidence }) => ({
    ...evidence,
    ...(await artifacts.sign(tenant, evidence.artifact_hash).catch(() => undefined)),
  }));
  const records = await Promise.all(signed);
  records.sort((a, b) => (a.evidence_ts < b.evidence_ts ? -1 : 1));
  return { job_id, records };
}
