/**
 * `ListTasks`: the tasks of one caller, the last changed first, in pages. Reads committed rows. A
 * cursor is the place of the last task of a page, so that tasks that change in the meantime move no
 * other one.
 */
import { type ListTasksRequest, type ListTasksResponse, TaskState } from '@a2a-js/sdk';
import { TroupeError } from '../../protocols/errors.ts';
import { TASKS_INDEX, type TaskRow, type TaskView } from '../../protocols/task.ts';
import type { Index } from '../../runtime/index.ts';
import { changedAt, stateOf, taskOf } from './task-view.ts';

const PAGE = 50;
const PAGE_MAX = 100;
/** Lists that one gateway makes at a time: each visits every task of its tenant. */
const LISTS_MAX = 8;
const RETRY_MS = 1_000;

type Place = { readonly at: string; readonly id: string };

export class TaskLists {
  readonly #index: Pick<Index, 'get' | 'scan'>;
  #open = 0;

  constructor(index: Pick<Index, 'get' | 'scan'>) {
    this.#index = index;
  }

  /**
   * @param isOwn whether the task is one of the caller's
   * @throws TroupeError INVALID_ARGUMENT; RATE_LIMIT_EXCEEDED
   */
  async list(
    tenant: string,
    request: ListTasksRequest,
    isOwn: (view: TaskView) => boolean,
  ): Promise<ListTasksResponse> {
    const pageSize = sizeOf(request.pageSize);
    const after = request.pageToken === '' ? undefined : placeOf(request.pageToken);
    const matches = filterOf(request);
    const page = new FirstPlaces(pageSize + 1);
    let totalSize = 0;
    await this.#scan(tenant, (view) => {
      if (!isOwn(view) || !matches(view)) return;
      totalSize++;
      const place = { at: changedAt(view), id: view.task_id };
      if (after === undefined || compare(after, place) < 0) page.add(place);
    });
    const places = page.sorted();
    const tasks = places.slice(0, pageSize).flatMap(({ id }) => {
      const view = this.#index.get<TaskRow>(TASKS_INDEX, tenant, id)?.view;
      if (!view) return [];
      const task = taskOf(view);
      return [request.includeArtifacts === true ? task : { ...task, artifacts: [] }];
    });
    const last = places.length > pageSize ? places[pageSize - 1] : undefined;
    return { tasks, nextPageToken: last ? tokenOf(last) : '', pageSize, totalSize };
  }

  async #scan(tenant: string, visit: (view: TaskView) => void): Promise<void> {
    if (this.#open === LISTS_MAX)
      throw new TroupeError('RATE_LIMIT_EXCEEDED', `${LISTS_MAX} lists of tasks are being made`, {
        retryAfterMs: RETRY_MS,
      });
    this.#open++;
    try {
      await this.#index.scan<TaskRow, 'view'>(TASKS_INDEX, tenant, { fields: ['view'] }, (row) =>
        visit(row.view),
      );
    } finally {
      this.#open--;
    }
  }
}

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

function filterOf(request: ListTasksRequest): (view: TaskView) => boolean {
  const { contextId, status, statusTimestampAfter: since } = request;
  if (status === TaskState.UNRECOGNIZED) throw invalid('status is not a state of a task');
  const sinceMs = since === undefined ? undefined : Date.parse(since);
  if (Number.isNaN(sinceMs)) throw invalid('statusTimestampAfter must be a time (RFC 3339)');
  return (view) =>
    (contextId === '' || view.context_id === contextId) &&
    (status === TaskState.TASK_STATE_UNSPECIFIED || stateOf(view) === status) &&
    (sinceMs === undefined || Date.parse(changedAt(view)) > sinceMs);
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
