/** Watchers: the actors that receive the changes of a task. Pure. */
import { WATCHERS_MAX } from '../../protocols/task-watch.ts';
import { type Args, on, type TaskContext } from './types.ts';

type Change = Partial<TaskContext>;

/** An actor of its own tenant that has a place, or gets one. */
export const mayWatch = (args: Args): boolean =>
  args.event.type === 'task.watch' && args.event.meta.from === args.event.watcher && hasRoom(args);

/** Whether the watcher has a place, or there is one. */
const hasRoom = on(
  ['task.watch', 'task.reserve_watcher'],
  ({ context: { watchers = [] }, event: { watcher } }): boolean =>
    watchers.includes(watcher) || watchers.length < WATCHERS_MAX,
);

export const isWatcher = on(
  'task.unwatch',
  ({ event: { watcher, meta } }): boolean => meta.from === watcher,
);

export const watch = on(
  ['task.watch', 'task.reserve_watcher'],
  ({ context: { watchers = [] }, event: { watcher } }): Change =>
    watchers.includes(watcher) || watchers.length === WATCHERS_MAX
      ? {}
      : { watchers: [...watchers, watcher] },
);

export const unwatch = on(
  'task.unwatch',
  ({ context: { watchers = [] }, event: { watcher } }): Change => ({
    watchers: watchers.filter((one) => one !== watcher),
  }),
);
