/** The events that an erasure can receive, and the invariants that hold on every path. */
import { erasureMachine } from '../../../actors/erasure/machine.ts';
import {
  erasureAddress,
  type ErasureReach,
  type ErasureRequest,
  type ErasureRow,
  NO_COUNTS,
} from '../../../protocols/erasure.ts';
import type { ErrorData } from '../../../protocols/errors.ts';
import type { Project, Tell } from '../../../protocols/statechart.ts';
import {
  demand,
  type Exploration,
  type Happened,
  type Move,
  requestsOf,
} from '../../charts/coverage.ts';

/** One effect per working state, and a receipt for each end. */
class Seen {
  row: ErasureRow | undefined;

  copy(): Seen {
    return Object.assign(new Seen(), this);
  }

  take({ step }: Happened): void {
    for (const { value } of requestsOf<Project>(step.requests, 'project'))
      this.row = value as ErasureRow;
    const receipts = requestsOf<Tell>(step.requests, 'tell');
    const isEnd = requestsOf<Project>(step.requests, 'project').some(
      ({ value }) => (value as ErasureRow).state === 'done',
    );
    demand(receipts, 'a receipt for each end, and none before').toHaveLength(isEnd ? 1 : 0);
    if (isEnd) demand(this.row?.endedAt, 'an erasure that is done has an end').toBeDefined();
  }
}

const request: ErasureRequest = {
  type: 'erasure.request',
  kind: 'session',
  id: 'agent:main:trial',
  who: 'ada',
};
const error: ErrorData = { code: 'UNAVAILABLE', message: 'away' };

const reach: ErasureReach = {
  shards: 8,
  shardsAll: 8,
  streams: [],
  processes: [],
  nodes: [],
  isDone: false,
};

export const exploration: Exploration = {
  machine: erasureMachine,
  self: erasureAddress({ tenant: 'default', kind: 'session', id: 'agent:main:trial' }),
  moves: (): Move[] => [
    { name: 'request', event: request },
    {
      name: 'found',
      job: 'survey',
      output: { sessions: ['agent:main:trial'], shared: 0, counts: { ...NO_COUNTS, sessions: 1 } },
    },
    { name: 'held', job: 'survey', error: { ...error, code: 'CONFLICT' } },
    { name: 'removed', job: 'remove', output: NO_COUNTS },
    { name: 'not removed', job: 'remove', error },
    { name: 'scrubbed', job: 'scrub', output: { ...reach, isDone: true } },
    { name: 'partly scrubbed', job: 'scrub', output: reach },
    { name: 'not scrubbed', job: 'scrub', error },
  ],
  key: ({ snapshot, jobs }) => [snapshot.value, snapshot.status, Object.keys(jobs)],
  ledger: () => new Seen(),
};
