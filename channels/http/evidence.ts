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
import type { Identity } from '../edge/edge.ts';
import type { Offers } from '../../protocols/offers.ts';
import { mayReach } from '../edge/task-service.ts';
import { credentialsOf } from './envelopes.ts';
import { type Route, sendJson } from './route.ts';

export type EvidenceRoutesOptions = {
  readonly index: Pick<Index, 'list' | 'get'>;
  readonly offers: Pick<Offers, 'find'>;
  readonly identity: Pick<Identity, 'authenticate'>;
  readonly artifacts: Pick<Artifacts, 'sign'>;
};

/** Jobs have few findings. */
const RECORDS_MAX = 1_000;

/** An entry of an earlier version whose task has been deleted has no principal. */
const FORGOTTEN: TaskOwner = { principal: '', action: '', action_version: '' };

export const evidenceRoutes = ({
  index,
  offers,
  identity,
  artifacts,
}: EvidenceRoutesOptions): readonly Route[] => [
  {
    method: 'GET',
    path: '/evidence/{job_id}',
    handle: async (incoming) => {
      const caller = await identity.authenticate(credentialsOf(incoming));
      const { tenant } = caller;
      const job_id = incoming.params['job_id']!;
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
      sendJson(incoming.response, 200, { job_id, records });
    },
  },
];
