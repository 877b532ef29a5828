/** What a configuration of push notifications keeps between turns. */
import type { ErrorData } from '../../protocols/errors.ts';
import type { PushConfig, PushConfigure, PushRemove, PushRetry } from '../../protocols/push.ts';
import type { SealedPayload } from '../../protocols/security/sealed.ts';
import type { Delivered } from '../../protocols/statechart.ts';
import type { TaskView } from '../../protocols/task.ts';
import type { TaskChanged } from '../../protocols/task-watch.ts';
import { type ActionArgs, handlersOf } from '../kit/handlers.ts';

export type Notice = {
  /** number of the notification, from 1 */
  readonly n: number;
  readonly view: TaskView;
};

export type PushContext = {
  readonly tenant: string;
  readonly key: string;
  readonly config: PushConfig | null;
  readonly secret: SealedPayload | null;
  /** epoch milliseconds */
  readonly createdAt: number;
  /** in the order of the task's changes; the first is being posted */
  readonly queue: readonly Notice[];
  /** number of the newest notice */
  readonly last: number;
  readonly delivered: number;
  /** the delivered task had ended */
  readonly isOver: boolean;
  /** consecutive failed attempts of the first notice */
  readonly failures: number;
  /** epoch milliseconds of the first of them */
  readonly failingSince: number;
  readonly error: ErrorData | null;
  readonly pauseMs: number;
};

export type PushEvent =
  | Delivered<PushConfigure>
  | Delivered<PushRetry>
  | Delivered<PushRemove>
  | Delivered<TaskChanged>;

export type Args = ActionArgs<PushContext, PushEvent>;
export const { on } = handlersOf<PushContext, PushEvent>();
