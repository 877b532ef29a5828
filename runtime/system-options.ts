/** Options of createSystem: the ports, the registered types and the settings of a process. */
import type { Address } from '../protocols/address.ts';
import { type ErrorData, TroupeError } from '../protocols/errors.ts';
import type { DeadLetterAsk, Message } from '../protocols/statechart.ts';
import type { ActorDefinition } from './actor/define-actor.ts';
import type { Blobs } from './blobs/blobs.ts';
import type { Bus } from './bus/bus.ts';
import type { Clock } from './clock/clock.ts';
import type { ClusterOptions } from './cluster/cluster-options.ts';
import type { ErasableStore } from './erasing.ts';
import type { TenantWeights } from './fairness/fair-queue.ts';
import type { HistorySettings } from './history/policy.ts';
import type { Labels } from './labels.ts';
import type { Log } from './log/log.ts';
import { checkNames, checkOptions, type OptionNames } from './option-names.ts';
import { DEFAULT_LIMITS, type Limits } from './shard/limits.ts';
import type { State } from './state/state.ts';
import type { SendOptions } from './system.ts';
import type { Workspaces } from './workspaces/workspaces.ts';

/** The durable store of the shards; `close` closes log and state. */
export type Store = ErasableStore & {
  readonly log: Log;
  readonly state: State;
  readonly cell: string;
  close(): Promise<void>;
};

export type SystemOptions = {
  readonly actors: readonly ActorDefinition[];
  readonly store: Store;
  readonly bus: Bus;
  readonly blobs: Blobs;
  readonly clock?: Clock;
  /** first token of every subject; default `local` */
  readonly env?: string;
  /**
   * number of shards of a new cell, fixed permanently: 1 to 65,536, default 8; for a node of a
   * cluster the number of the cell, from `openNats`
   */
  readonly shards?: number;
  /** receives the crashes of actors that have no supervisor of their own */
  readonly supervisor?: Address;
  /** handed to every effect as `context.services` */
  readonly services?: unknown;
  readonly limits?: Partial<Limits>;
  /**
   * makes the ids of messages from outside and the name of this process, each of which must be new
   * in the whole cell; default random ones. For tests that have the same ids in each run
   */
  readonly newId?: () => string;
  /** receives alarms for operators: lost shards, unknown effects, failed trims */
  readonly onAlarm?: (what: string) => void;
  /**
   * receives each message that a machine of a local shard gave up, after the commit, but not again
   * after a crash. Must not throw
   */
  readonly onDeadLetter?: (letter: DeadLetterAsk) => void;
  /** why this process accepts a message from outside no more at present; default: it accepts all */
  readonly refusalOf?: (message: Message, options: SendOptions) => ErrorData | undefined;
  /**
   * whether due timers of an actor wait at present, such as those that start new work; they are
   * looked at again each second and fire late. Default: none waits
   */
  readonly holdsTimersOf?: (actor: Address) => boolean;
  /** history settings: what is kept of the turns of actors */
  readonly history?: HistorySettings;
  readonly journalTail?: number;
  readonly snapshotEvery?: number;
  readonly snapshotBytes?: number;
  /**
   * shares of tenants against each other, 0.01 to 100 each; default 1. A function may change them
   */
  readonly tenantWeights?: TenantWeights;
  /** effects of one tenant that this process runs at once; others wait; default no limit */
  readonly tenantRunningMax?: number | (() => number);
  /** dead letters that were resolved 30 days ago are removed now and then; default true */
  readonly tidiesDeadLetters?: boolean;
  /** provides the workspaces of actors; without it effects have none */
  readonly workspaces?: Workspaces;
  /** labels of this process: effects that require others run elsewhere, or wait; default none */
  readonly labels?: Labels;
  /** of the program, shown to operators; in a cluster that of `cluster` */
  readonly version?: string;
  /** this process is a node of a cluster; default: it owns every shard */
  readonly cluster?: ClusterOptions;
};

const OPTIONS = {
  actors: 'required',
  store: 'required',
  bus: 'required',
  blobs: 'required',
  clock: 'optional',
  env: 'optional',
  shards: 'optional',
  supervisor: 'optional',
  services: 'optional',
  limits: 'optional',
  newId: 'optional',
  onAlarm: 'optional',
  onDeadLetter: 'optional',
  refusalOf: 'optional',
  holdsTimersOf: 'optional',
  history: 'optional',
  journalTail: 'optional',
  snapshotEvery: 'optional',
  snapshotBytes: 'optional',
  tenantWeights: 'optional',
  tenantRunningMax: 'optional',
  tidiesDeadLetters: 'optional',
  workspaces: 'optional',
  labels: 'optional',
  version: 'optional',
  cluster: 'optional',
} satisfies OptionNames<SystemOptions>;
const HISTORY = { bytesMax: 'optional', types: 'optional' } satisfies OptionNames<HistorySettings>;

/** @throws TroupeError INVALID_ARGUMENT for options that cannot be meant */
export function checkSystemOptions(options: SystemOptions): void {
  // Programs pass all ports of openNats on, of which a system does not need these.
  const {
    pubsub: _,
    storage: __,
    ...own
  } = { ...options } as SystemOptions & Record<string, unknown>;
  checkOptions('createSystem', own, OPTIONS);
  if (!options.store.log)
    throw new TroupeError(
      'INVALID_ARGUMENT',
      'createSystem: store has no log: pass on the ports, as in createSystem({ ...ports, actors })',
    );
  checkNames('createSystem', options.limits, DEFAULT_LIMITS, 'limits.');
  checkNames('createSystem', options.history, HISTORY, 'history.');
  if (options.cluster && options.shards === undefined)
    throw new TroupeError(
      'INVALID_ARGUMENT',
      'a node of a cluster requires the number of shards of its cell (from openNats)',
    );
}
