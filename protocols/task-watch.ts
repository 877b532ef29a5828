/** Messages between a task and the actors that receive its changes. */
import type { Address } from './address.ts';
import type { TaskView } from './task.ts';

/**
 * To a task, by an actor of its tenant that receives its changes: TaskChanged, now and
 * whenever the task asks for input or ends, in order. At most WATCHERS_MAX, each once; later ones
 * are ignored.
 */
export type TaskWatch = { readonly type: 'task.watch'; readonly watcher: Address };
export const WATCHERS_MAX = 10;
/**
 * To a task: keeps a place for a watcher that will be created, and which may receive changes from
 * now on. Reply: null, also when it has a place; RATE_LIMIT_EXCEEDED; NOT_FOUND.
 */
export type TaskReserveWatcher = {
  readonly type: 'task.reserve_watcher';
  readonly watcher: Address;
};
/** To a task, by a watcher: it receives no more changes, and another may take its place. */
export type TaskUnwatch = { readonly type: 'task.unwatch'; readonly watcher: Address };
/** To a watcher: the task now. A result above 64 KiB of JSON is left out. */
export type TaskChanged = { readonly type: 'task.changed'; readonly task: TaskView };
