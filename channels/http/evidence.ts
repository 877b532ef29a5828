/**
 * `GET /evidence/{job_id}`: what verifiers found out about a job of the caller's tenant (EN16),
 * oldest first. Their files can be read: each URL is signed anew.
 */
import { TroupeError } from '../../protocols/errors.ts';
import { type Evidence, EVIDENCE_INDEX, evidencePrefix } from '../../protocols/task.ts';
import type { Artifacts, Index } from '../../runtime/index.ts';
import type { Identity } from '../edge/edge.ts';
import { credentialsOf } from './envelopes.ts';
import { type Route, sendJson } from './route.ts';

export type EvidenceRoutesOptions = {
  readonly index: Pick<Index, 'list'>;
  readonly identity: Pick<Identity, 'authenticate'>;
  readonly artifacts: Pick<Artifacts, 'sign'>;
};

/** A job has few. */
const RECORDS_MAX = 1_000;

export const evidenceRoutes = ({
  index,
  identity,
  artifacts,
}: EvidenceRoutesOptions): readonly Route[] => [
  {
    method: 'GET',
    path: '/evidence/{job_id}',
    handle: async (incoming) => {
      const { tenant } = await identity.authenticate(credentialsOf(incoming));
      const job_id = incoming.params['job_id']!;
      const rows = index.list<Evidence>(EVIDENCE_INDEX, tenant, {
        prefix: evidencePrefix(job_id),
        limit: RECORDS_MAX,
      });
      if (rows.length === 0)
        throw new TroupeError('NOT_FOUND', `no verifier has looked at a job ${job_id}`);
      const signed = rows.map(async ({ value }) => ({
        ...value,
        ...(await artifacts.sign(tenant, value.artifact_hash).catch(() => undefined)),
      }));
      const records = await Promise.all(signed);
      records.sort((a, b) => (a.evidence_ts < b.evidence_ts ? -1 : 1));
      sendJson(incoming.response, 200, { job_id, records });
    },
  },
];
