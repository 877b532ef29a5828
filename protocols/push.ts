/**
 * Push notifications of tasks: an actor per configuration posts each change of its task to a URL
 * that the client chose. The Agent2Agent protocol has them; the actor is independent of it, because
 * what is posted is made by `PushSender`.
 */
import { hash } from 'node:crypto';
import { type Address, address } from './address.ts';
import type { SealedPayload } from './security/sealed.ts';
import type { TaskView } from './task.ts';

/** Index of configurations, key `pushKey`. */
export const PUSH_INDEX = 'push_configs';

/** A configuration, without its secrets. */
export type PushConfig = {
  readonly task_id: string;
  readonly config_id: string;
  readonly url: string;
  /** `sub` of the caller that created it */
  readonly principal: string;
  /** authentication scheme of its receiver, as `Bearer` */
  readonly scheme?: string;
};

export type PushRow = PushConfig & {
  /**
   * `failing`: the last attempt failed and is repeated; `disabled`: it was given up, and is a dead
   * letter; `finished`: the end of the task was delivered
   */
  readonly state: 'active' | 'failing' | 'disabled' | 'finished';
  /** notifications that the receiver accepted */
  readonly delivered: number;
  /** consecutive failed attempts */
  readonly failures: number;
  readonly last_error?: string;
  /** RFC 3339 */
  readonly created_at: string;
};

/** All configurations of a task have the prefix `${taskId}.`. */
export const pushKey = (taskId: string, configId: string): string =>
  `${taskId}.${hash('sha256', configId, 'hex').slice(0, 32)}`;

export const pushAddress = (tenant: string, key: string): Address => address(tenant, 'push', key);

/** To a configuration: creates or replaces it. Reply: null; CONFLICT when it is another's. */
export type PushConfigure = {
  readonly type: 'push.configure';
  readonly config: PushConfig;
  /** token and credentials, sealed to the installation's key */
  readonly secret?: SealedPayload;
};
/**
 * To a disabled configuration, by the redrive of its dead letter: posts the state of the task.
 * Reply: null, also when it is not disabled or was removed: then nothing changes.
 */
export type PushRetry = { readonly type: 'push.retry' };
/** To a configuration: removes it. Reply: null, also when there is none. */
export type PushRemove = { readonly type: 'push.remove' };

/** One notification. */
export type PushDelivery = {
  readonly tenant: string;
  /** the same for all attempts, so that the receiver can ignore repeats */
  readonly id: string;
  readonly config: PushConfig;
  readonly secret?: SealedPayload;
  /** the task after the change; a result above 64 KiB of JSON is left out */
  readonly view: TaskView;
};

/**
 * Posts a notification. @throws TroupeError FORBIDDEN, INVALID_ARGUMENT: no other attempt would
 * help; UNAVAILABLE, DEADLINE_EXCEEDED
 */
export type PushSender = (delivery: PushDelivery, signal: AbortSignal) => Promise<void>;
