/**
 * Messages from the host to a supervisor, a supervisor's orders, and what operators send to both. A
 * supervisor's address is `{tenant}/supervisor/{name}`; the root's is `ROOT`.
 */
import { type Address, address } from './address.ts';
import type { AgentSettings } from './agent.ts';
import type { ErrorData } from './errors.ts';
import type { Message } from './statechart.ts';

/** The root actor of a tenant. The root of the default tenant supervises the complete cell. */
export const rootAddress = (tenant: string): Address => address(tenant, 'root', 'cluster');

/** Supervises every actor that was created without a supervisor of its own. */
export const ROOT = 'default/root/cluster' as Address;

/** To a supervisor: a child's turn threw and was rolled back; the child is suspended. */
export type Down = {
  type: 'supervision.down';
  child: Address;
  error: ErrorData;
  /** crashes of the child so far, as far as recorded */
  crashes: number;
  at: number;
  /** processing the input killed the process */
  poison: boolean;
  /**
   * the child is a supervisor that gave up; it is not suspended, and the response is
   * `supervisor.restart`
   */
  escalated?: true;
};

/** Orders to an actor. Its host obeys them, not its machine; only its supervisor may send them. */
export const DIRECTIVES = [
  'sys.resume',
  'sys.restart',
  'sys.stop',
  'sys.quarantine',
  'sys.pause',
  'sys.eraseHistory',
  'sys.erase',
] as const;
/**
 * - `sys.resume`: continue from the last committed state, without the message that crashed;
 *  - `sys.restart`: reset to the initial state; state, open effects and timers are dropped, mail
 *    and
 *    transcript stay;
 *  - `sys.stop`: accept no more messages;
 *  - `sys.quarantine`: accept no more messages, and store new ones as dead letters;
 *  - `sys.pause`: keep messages, outcomes and timers waiting, in order, until `sys.resume`. Running
 *    effects continue;
 *  - `sys.eraseHistory`: change nothing; the turns up to this one leave the history;
 *  - `sys.erase`: forget the actor with its waiting messages, open effects, timers, idempotency
 *    keys and the index rows that the message names (`SysErase`). Also for an actor that does not
 *    exist. Its transcript stays.
 */
export type Directive = (typeof DIRECTIVES)[number];

/** To any actor, from an operator. Reply: `{ status: 'erased' }`. */
export type SysErase = {
  type: 'sys.erase';
  /** rows of the actor's tenant in its shard */
  rows?: readonly { readonly index: string; readonly key: string }[];
  /** keys of rows of the shard that name when such rows, or idempotency keys, expire */
  expiries?: readonly string[];
};

/** `details.reason` of why an actor is suspended: an operator paused it, and it did not fail. */
export const PAUSED = 'PAUSED';

/** Which children are restarted when one of them fails, in the order of the list. */
export type Strategy = 'one-for-one' | 'one-for-all' | 'rest-for-one';

/** What happens to a failed child while failures stay within the intensity. */
export type ChildAction = 'restart' | 'resume' | 'quarantine';

export type ChildSpec = {
  readonly child: Address;
  /**
   * creates the child under this supervisor; sent again after each restart. An actor keeps the
   * supervisor that it was created with
   */
  readonly start: Message;
  /** default `restart`; a child supervisor is resumed, because its state is its children */
  readonly action?: ChildAction;
};

/** To a supervisor: sets its configuration. A repeat changes nothing. Reply: SupervisorRow. */
export type SupervisorStart = {
  type: 'supervisor.start';
  /** in the order that rest-for-one uses; at most 100 */
  children: readonly ChildSpec[];
  /** default `one-for-one` */
  strategy?: Strategy;
  /**
   * failures within `periodMs` that are tolerated; one more and the supervisor gives up. Default 3
   */
  intensity?: number;
  /** milliseconds; default 60,000 */
  periodMs?: number;
  /**
   * delay before a child continues, milliseconds: doubles with each failure. Default 200, 30,000
   */
  backoff?: { readonly firstMs?: number; readonly maxMs?: number };
  /** what happens to the children when the supervisor gives up; default `stop` */
  whenExceeded?: 'stop' | 'quarantine';
  /** notified when this supervisor gives up; default the root */
  parent?: Address;
};
/** To a supervisor: adds a child at the end of the list. Reply: SupervisorRow. */
export type SupervisorAdd = { type: 'supervisor.add'; child: ChildSpec };
/** To a supervisor: stops this child and removes it. Reply: SupervisorRow. */
export type SupervisorRemove = { type: 'supervisor.remove'; child: Address };
/**
 * To a supervisor, from its own supervisor: restart every child and clear the recorded failures.
 */
export type SupervisorRestart = { type: 'supervisor.restart' };
/**
 * To a supervisor, from its own supervisor: stop or quarantine every child, as if it had given up.
 */
export type SupervisorStop = { type: 'supervisor.stop' };

/** Index `supervisors`, key the supervisor's name. */
export type SupervisorRow = {
  supervisor: Address;
  status: 'supervising' | 'halted';
  strategy: Strategy;
  children: number;
  /** failures within the period, at the time of the last one */
  failures: number;
  updatedAt: number;
  why?: ErrorData;
};

/**
 * To the root, at every boot: the configured agents; agents that are no longer configured retire.
 * Reply, after all of them have stored their settings: RootStarted.
 */
export type RootStart = {
  type: 'root.start';
  agents: readonly AgentSettings[];
  /**
   * the first settings of a cell that several gateways start: a cell with settings keeps its own
   * and returns them
   */
  seed?: boolean;
  /** who changed the agents, for the record; default `start` */
  by?: string;
};
/** To the root: the entry points accept nothing new, and open work is completed. Reply: RootRow. */
export type RootDrain = { type: 'root.drain' };
/** To the root: all is committed, and the process ends. Reply: RootRow. */
export type RootStopped = { type: 'root.stopped' };
/**
 * To the root, from a worker about itself: it accepts shards from now on. `node` is unique per
 * process; `name` stays the same over restarts. Later messages about an unknown or replaced process
 * are ignored, and so are repeats.
 */
export type WorkerJoined = { type: 'worker.joined'; node: string; name: string };
/** To the root, from a worker about itself: it hands over its shards and leaves. */
export type WorkerDraining = { type: 'worker.draining'; node: string; name: string };
/** To the root, from a worker about itself: it has no shard any more. */
export type WorkerLeft = { type: 'worker.left'; node: string; name: string };
/**
 * To the root, from any process that detects it: the worker's process no longer exists or is
 * unreachable.
 */
export type WorkerLost = { type: 'worker.lost'; node: string; name: string };
/** To the root: an operator dismissed the alarm of this actor. */
export type AlarmDismiss = { type: 'alarm.dismiss'; actor: Address };

/** Index `cluster`, key `root`. */
export type RootRow = {
  status: 'starting' | 'running' | 'draining' | 'stopped';
  /** time of the last change of the status */
  since: number;
  agents: number;
};

/** The reply to `root.start`: the settings in effect. */
export type RootStarted = RootRow & { settings: readonly AgentSettings[] };

/** Index `cluster`, key `placement`: the state of a cell's workers. */
export type PlacementRow = {
  /**
   * `unattended`: no worker serves; `settling`: within the last seconds a worker joined, drained or
   * was lost, and shards move; `steady`: none of these
   */
  status: 'unattended' | 'settling' | 'steady';
  /** time of the last change of the status */
  since: number;
  /** workers that serve, including draining ones */
  workers: number;
};

/** Index `workers`, key the worker's name. The row of a lost one is removed after an hour. */
export type WorkerRow = {
  name: string;
  node: string;
  state: 'active' | 'draining' | 'lost';
  /** time of the last change of the state */
  since: number;
};

/** Index `alarms`, key the actor's address: actors that were given up and need an operator. */
export type AlarmRow = {
  actor: Address;
  error: ErrorData;
  /** failures within the period that exceeded the limit */
  failures: number;
  at: number;
  poison: boolean;
};
