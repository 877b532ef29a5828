/**
 * `ListTasks`: the tasks that a caller has created at the address of an agent, the last changed
 * first, in pages. Reads committed rows, which are small and are those of this caller and agent
 * only. A page token is the place of the last task of a page, so that tasks that are created or
 * changed in the meantime move no other one.
 */
import { type ListTasksRequest, TaskState } from '@a2a-js/sdk';
import {
  AGENT_TASKS_INDEX,
  agentTasksPrefix,
  type AgentTaskRow,
} from '../../protocols/agent2agent.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { taskAddress, TASKS_INDEX, type TaskRow, type TaskView } from '../../protocols/task.ts';
import type { Index } from '../../runtime/index.ts';
import { stateOf } from './task-view.ts';

const PAGE = 50;
const PAGE_MAX = 100;
/** Lists that one gateway makes at a time. */
const LISTS_MAX = 64;
const RETRY_MS = 1_000;

type Place = { readonly at: string; readonly id: string };

/** Whose tasks are listed. */
type ListOwner = {
  readonly tenant: string;
  readonly principal: string;
  readonly agentId: string;
};

type TaskPage = {
  readonly views: readonly TaskView[];
  readonly nextPageToken: string;
  readonly pageSize: number;
  /** of all pages */
  readonly totalSize: number;
};

export class TaskLists {
  readonly #index: Pick<Index, 'get' | 'scan'>;
  #open = 0;

  constructor(index: Pick<Index, 'get' | 'scan'>) {
    this.#index = index;
  }

  /** @throws TroupeError INVALID_ARGUMENT; RATE_LIMIT_EXCEEDED */
  async list(owner: ListOwner, request: ListTasksRequest): Promise<TaskPage> {
    const pageSize = sizeOf(request.pageSize);
    const after = request.pageToken === '' ? undefined : placeOf(request.pageToken);
    const matches = filterOf(request);
    const page = new FirstPlaces(pageSize + 1);
    let totalSize = 0;
    await this.#scan(owner, (row) => {
      if (!matches(row)) return;
      totalSize++;
      const place = { at: row.at, id: row.task_id };
      if (after === undefined || compare(after, place) < 0) page.add(place);
    });
    const places = page.sorted();
    const views = places.slice(0, pageSize).flatMap(({ id }) => this.#view(owner.tenant, id));
    const last = places.length > pageSize ? places[pageSize - 1] : undefined;
    return { views, nextPageToken: last ? tokenOf(last) : '', pageSize, totalSize };
  }

  #view(tenant: string, id: string): readonly TaskView[] {
    const row = this.#index.get<TaskRow>(TASKS_INDEX, tenant, id, taskAddress(tenant, id));
    return row ? [row.view] : [];
  }

  async #scan(
    { tenant, principal, agentId }: ListOwner,
    visit: (row: AgentTaskRow) => void,
  ): Promise<void> {
    if (this.#open === LISTS_MAX)
      throw new TroupeError('RATE_LIMIT_EXCEEDED', `${LISTS_MAX} lists of tasks are being made`, {
        retryAfterMs: RETRY_MS,
      });
    this.#open++;
    try {
      const prefix = agentTasksPrefix(principal, agentId);
      const options = { prefix, fields: FIELDS };
      await this.#index.scan<AgentTaskRow, Field>(AGENT_TASKS_INDEX, tenant, options, visit);
    } finally {
      this.#open--;
    }
  }
}

const FIELDS = ['task_id', 'state', 'at', 'context_id', 'outcome', 'waiting'] as const;
type Field = (typeof FIELDS)[number];

/** The first places in order, in bounded memory. */
class FirstPlaces {
  readonly #max: number;
  #places: Place[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  add(place: Place): void {
    this.#places.push(place);
    if (this.#places.length >= 4 * this.#max) this.#places = this.sorted();
  }

  sorted(): Place[] {
    return this.#places.toSorted(compare).slice(0, this.#max);
  }
}

/** The last changed first. */
const compare = (a: Place, b: Place): number =>
  a.at === b.at ? (a.id < b.id ? -1 : a.id > b.id ? 1 : 0) : a.at > b.at ? -1 : 1;

function filterOf(request: ListTasksRequest): (row: AgentTaskRow) => boolean {
  const { contextId, status, statusTimestampAfter: since } = request;
  if (status === TaskState.UNRECOGNIZED) throw invalid('status is not a state of a task');
  const sinceMs = since === undefined ? undefined : Date.parse(since);
  if (Number.isNaN(sinceMs)) throw invalid('statusTimestampAfter must be a time (RFC 3339)');
  return (row) =>
    (contextId === '' || (row.context_id ?? row.task_id) === contextId) &&
    (status === TaskState.TASK_STATE_UNSPECIFIED || stateOf(row) === status) &&
    (sinceMs === undefined || Date.parse(row.at) >= sinceMs);
}

function sizeOf(size: number | undefined): number {
  if (size === undefined) return PAGE;
  if (Number.isInteger(size) && size >= 1 && size <= PAGE_MAX) return size;
  throw invalid(`pageSize must be a whole number from 1 to ${PAGE_MAX}`);
}

const tokenOf = ({ at, id }: Place): string => Buffer.from(`${at} ${id}`).toString('base64url');

function placeOf(token: string): Place {
  const [at = '', id = '', ...more] = Buffer.from(token, 'base64url').toString().split(' ');
  if (id !== '' && more.length === 0 && !Number.isNaN(Date.parse(at))) return { at, id };
  throw invalid('pageToken is none that a list returned');
}

const invalid = (message: string): TroupeError => new TroupeError('INVALID_ARGUMENT', message);
