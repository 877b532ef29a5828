/** The events that a batch can receive, and the invariants that hold on every path. */
import { embeddingBatchMachine } from '../../../actors/embedding-batch/machine.ts';
import type { BatchContext } from '../../../actors/embedding-batch/types.ts';
import { address } from '../../../protocols/address.ts';
import type { AgentRelease } from '../../../protocols/agent.ts';
import {
  type BatchLook,
  embeddingBatchAddress,
  type EmbeddingBatchRow,
  type Uploaded,
} from '../../../protocols/embedding-batch.ts';
import type { ErrorData } from '../../../protocols/errors.ts';
import type { Project, Reply, Tell } from '../../../protocols/statechart.ts';
import {
  demand,
  type Exploration,
  type Happened,
  type Move,
  requestsOf,
} from '../../charts/coverage.ts';

const usage = { inputTokens: 40, outputTokens: 0, costUsd: 0.01 };
const ENDS: readonly unknown[] = ['done', 'failed', 'cancelled'];

/** Whether the provider may have a batch, and what the agent was sent. */
class Seen {
  row: EmbeddingBatchRow | null = null;
  /** requests of creation since the list of the provider lacked the batch */
  creations = 0;
  mayExist = false;
  isAdmitted = false;
  isCounted = false;
  wasStored = false;
  wasCreating = false;

  copy(): Seen {
    return Object.assign(new Seen(), this);
  }

  take({ name, step }: Happened): void {
    const context = step.live.snapshot.context as BatchContext;
    const jobs = Object.keys(step.live.jobs);
    demand(jobs.length, 'one request at a time').toBeLessThanOrEqual(1);
    if (name === 'not in the list') this.creations = 0;
    if (name === 'created' || name === 'found') this.mayExist = true;
    if (name === 'stored') this.wasStored = true;
    if (jobs.includes('create') && !this.wasCreating) this.#create();
    this.wasCreating = jobs.includes('create');
    for (const { to, event } of requestsOf<Tell>(step.requests, 'tell')) {
      demand(to).toBe(address('default', 'agent', 'main'));
      if (event.type === 'agent.admit') this.#begin();
      else this.#count(event as unknown as AgentRelease);
    }
    for (const { value } of requestsOf<Project>(step.requests, 'project')) {
      this.row = value as EmbeddingBatchRow | null;
      if (!this.row) continue;
      demand(ENDS.includes(this.row.state), 'an end is counted').toBe(this.isCounted);
      if (this.row.state === 'failed') demand(this.row.error).toBeDefined();
      if (this.row.state === 'done') demand(this.row.error).toBeUndefined();
    }
    for (const { result, error } of requestsOf<Reply>(step.requests, 'reply'))
      demand(error !== undefined || (result as EmbeddingBatchRow).agentId === 'main').toBe(true);
    demand(JSON.stringify(context).length, 'no texts').toBeLessThan(2_000);
  }

  #begin(): void {
    Object.assign(this, { isAdmitted: true, isCounted: false, mayExist: false, creations: 0 });
    this.wasStored = false;
  }

  #create(): void {
    this.creations += 1;
    demand(this.creations, 'created again without a look into the list').toBe(1);
    demand(this.mayExist, 'a batch that exists is created').toBe(false);
  }

  #count(event: AgentRelease): void {
    demand(this.isCounted, 'counted twice').toBe(false);
    this.isCounted = true;
    demand(event.usage.inputTokens).toBe(this.wasStored ? usage.inputTokens : 0);
  }
}

const upload: Uploaded = { model: 'a/b', identity: 'a b', texts: 3, left: 0, file: 'file-in' };
const away: ErrorData = { code: 'UNAVAILABLE', message: 'away' };
const wrong: ErrorData = { code: 'INVALID_ARGUMENT', message: 'wrong' };
const none: ErrorData = { code: 'NOT_FOUND', message: 'no such batch' };
const looked = (
  name: string,
  status: BatchLook['status'],
  files: readonly string[] = [],
): Move => ({
  name,
  job: 'look',
  output: { status, files, ...(status === 'failed' && { why: 'too many tokens' }) },
});
const failures = (job: string): Move[] =>
  Object.entries({ away, wrong, none }).map(([name, error]) => ({
    name: `${job}: ${name}`,
    job,
    error,
  }));

export const exploration: Exploration = {
  machine: embeddingBatchMachine,
  self: embeddingBatchAddress('default', 'main'),
  moves: ({ snapshot }) => {
    const { ticket } = (snapshot.context as BatchContext).ticket;
    const fromAgent = (name: string, type: string, runId: string, fields: object): Move => ({
      name,
      event: { type, runId, ...fields },
      from: address('default', 'agent', 'main'),
      tell: true,
    });
    return [
      { name: 'start', event: { type: 'batch.start' } },
      { name: 'cancel', event: { type: 'batch.cancel' } },
      fromAgent('admitted', 'agent.admitted', ticket, { lease: 0 }),
      fromAgent('an earlier one is admitted', 'agent.admitted', 'earlier', { lease: 0 }),
      fromAgent('refused by the agent', 'agent.refused', ticket, { error: away }),
      {
        name: 'no agent',
        event: { type: 'refused', to: 'x', message: 'agent.admit', error: away },
        tell: true,
      },
      { name: 'uploaded', job: 'upload', output: upload },
      { name: 'nothing to do', job: 'upload', output: { ...upload, texts: 0, file: null } },
      { name: 'created', job: 'create', output: 'batch-1' },
      { name: 'killed while it is created', job: 'create', output: null },
      { name: 'found', job: 'find', output: 'batch-1' },
      { name: 'not in the list', job: 'find', output: null },
      looked('running', 'running'),
      looked('completed', 'completed', ['out', 'errors']),
      looked('expired', 'expired', ['out']),
      looked('expired without answers', 'expired'),
      looked('cancelled', 'cancelled', ['out']),
      looked('cancelled without answers', 'cancelled'),
      looked('failed', 'failed'),
      { name: 'cancel accepted', job: 'cancel', output: null },
      { name: 'stored', job: 'store', output: { stored: 3, usage } },
      { name: 'released', job: 'release', output: { filesLeft: [] } },
      { name: 'released, files left', job: 'release', output: { filesLeft: ['file-in'] } },
      ...['upload', 'create', 'find', 'look', 'cancel', 'store', 'release'].flatMap(failures),
    ];
  },
  key: ({ snapshot, jobs }) => {
    const {
      upload: sent,
      batchId,
      cancel,
      outcome,
      stored,
      failures: failed,
      error,
      looks,
    } = snapshot.context as BatchContext;
    return [
      snapshot.value,
      snapshot.status,
      Object.keys(jobs),
      sent?.file,
      batchId,
      cancel,
      outcome,
      stored,
      Math.min(failed, 1),
      error?.code,
      Math.min(looks, 1),
    ];
  },
  ledger: () => new Seen(),
};
