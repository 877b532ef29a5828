/** `GET /evidence/{job_id}`: what verifiers found out about a job of the caller's tenant (EN16). */
import { type Evidence, EVIDENCE_INDEX } from '../../protocols/task.ts';
import type { Index } from '../../runtime/index.ts';
import type { Identity } from '../edge/edge.ts';
import { credentialsOf } from './envelopes.ts';
import { type Route, sendJson } from './route.ts';

export type EvidenceRoutesOptions = {
  readonly index: Pick<Index, 'list'>;
  readonly identity: Pick<Identity, 'authenticate'>;
};

/** A job has few. */
const RECORDS_MAX = 1_000;

export const evidenceRoutes = ({ index, identity }: EvidenceRoutesOptions): readonly Route[] => [
  {
    method: 'GET',
    path: '/evidence/{job_id}',
    handle: async (incoming) => {
      const { tenant } = await identity.authenticate(credentialsOf(incoming));
      const job_id = incoming.params['job_id']!;
      const rows = index.list<Evidence>(EVIDENCE_INDEX, tenant, {
        prefix: `${job_id}|`,
        limit: RECORDS_MAX,
      });
      sendJson(incoming.response, 200, { job_id, evidence: rows.map(({ value }) => value) });
    },
  },
];
