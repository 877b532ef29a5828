/**
 * What the host tells a supervisor, what a supervisor orders, and what people say to both (RT3). A
 * supervisor's address is `{tenant}/supervisor/{name}`; the root's is `ROOT`.
 */
import { type Address, address } from './address.ts';
import type { AgentSettings } from './agent.ts';
import type { ErrorData } from './errors.ts';
import type { Message } from './statechart.ts';

/** The root actor of a tenant. The root of the default tenant supervises the whole cell. */
export const rootAddress = (tenant: string): Address => address(tenant, 'root', 'cluster');

/** Supervises every actor that was created without a supervisor of its own. */
export const ROOT = 'default/root/cluster' as Address;

/** To a supervisor: a child's turn threw and was undone; the child waits, suspended. */
export type Down = {
  type: 'supervision.down';
  child: Address;
  error: ErrorData;
  /** how often the child crashed in its life, as far as it is remembered */
  crashes: number;
  at: number;
  /** the input killed the process */
  poison: boolean;
  /**
   * the child is a supervisor that gave up its own children; it is not suspended, and is answered
   * by `supervisor.restart`
   */
  escalated?: true;
};

/**
 * Orders to an actor, obeyed by its host and not by its machine; taken from its supervisor only.
 */
export const DIRECTIVES = ['sys.resume', 'sys.restart', 'sys.stop', 'sys.quarantine'] as const;
/**
 *  - `sys.resume`: go on from the last committed state, without the message that crashed;
 *  - `sys.restart`: be born again; state, open effects and timers are gone, mail and transcript
 *    stay;
 *  - `sys.stop`: take no more messages;
 *  - `sys.quarantine`: take no more messages, and keep those that come as dead letters.
 */
export type Directive = (typeof DIRECTIVES)[number];

/** Which children are restarted when one of them fails, in the order they are listed. */
export type Strategy = 'one-for-one' | 'one-for-all' | 'rest-for-one';

/** What is done to a child that failed, as long as failures stay within the intensity. */
export type ChildAction = 'restart' | 'resume' | 'quarantine';

export type ChildSpec = {
  readonly child: Address;
  /**
   * creates the child and makes it this supervisor's; told again after each restart. An actor keeps
   * the supervisor that it was created with
   */
  readonly start: Message;
  /** default `restart`; a supervisor below is resumed, since its children are its state */
  readonly action?: ChildAction;
};

/** To a supervisor: be this. The same again changes nothing. Answer: SupervisorRow. */
export type SupervisorStart = {
  type: 'supervisor.start';
  /** in the order that rest-for-one goes by; at most 100 */
  children: readonly ChildSpec[];
  /** default `one-for-one` */
  strategy?: Strategy;
  /**
   * failures within `periodMs` that are answered; one more and the supervisor gives up. Default 3
   */
  intensity?: number;
  /** milliseconds; default 60,000 */
  periodMs?: number;
  /** wait before a child goes on, milliseconds: doubles with each failure. Default 200, 30,000 */
  backoff?: { readonly firstMs?: number; readonly maxMs?: number };
  /** what becomes of the children when the supervisor gives up; default `stop` */
  whenExceeded?: 'stop' | 'quarantine';
  /** told when this supervisor gives up; default the root */
  parent?: Address;
};
/** To a supervisor: one more child, the last in order. Answer: SupervisorRow. */
export type SupervisorAdd = { type: 'supervisor.add'; child: ChildSpec };
/** To a supervisor: stop this child and forget it. Answer: SupervisorRow. */
export type SupervisorRemove = { type: 'supervisor.remove'; child: Address };
/** To a supervisor, from its own: restart every child, with no failure on record. */
export type SupervisorRestart = { type: 'supervisor.restart' };
/** To a supervisor, from its own: stop or quarantine every child, as if it had given up itself. */
export type SupervisorStop = { type: 'supervisor.stop' };

/** Index `supervisors`, key the supervisor's name. */
export type SupervisorRow = {
  supervisor: Address;
  status: 'supervising' | 'halted';
  strategy: Strategy;
  children: number;
  /** failures within the period, as of the last one */
  failures: number;
  updatedAt: number;
  why?: ErrorData;
};

/**
 * To the root, at every boot: the agents that are configured now; those that were and are not any
 * more retire. Answer, when all of them have taken their settings: RootStarted.
 */
export type RootStart = {
  type: 'root.start';
  agents: readonly AgentSettings[];
  /**
   * they are the first settings of a cell that several gateways start: a cell that has settings
   * keeps its own, and answers with them
   */
  seed?: boolean;
};
/** To the root: the doors take nothing new, what runs is being finished. Answer: RootRow. */
export type RootDrain = { type: 'root.drain' };
/** To the root: all is committed, the process ends. Answer: RootRow. */
export type RootStopped = { type: 'root.stopped' };
/**
 * To the root, from a worker about itself: it takes shards from now on. `node` is unique per
 * process, `name` stable over its restarts. What follows about a process that was not told of, or
 * that another of its name has replaced, changes nothing, and neither does a repetition.
 */
export type WorkerJoined = { type: 'worker.joined'; node: string; name: string };
/** To the root, from a worker about itself: it hands its shards over and leaves. */
export type WorkerDraining = { type: 'worker.draining'; node: string; name: string };
/** To the root, from a worker about itself: it holds no shard any more. */
export type WorkerLeft = { type: 'worker.left'; node: string; name: string };
/** To the root, from whoever found out: the worker's process is gone, or nobody hears it. */
export type WorkerLost = { type: 'worker.lost'; node: string; name: string };
/** To the root: a person has dealt with the alarm of this actor. */
export type AlarmDismiss = { type: 'alarm.dismiss'; actor: Address };

/** Index `cluster`, key `root`. */
export type RootRow = {
  status: 'starting' | 'running' | 'draining' | 'stopped';
  /** since when it has this status */
  since: number;
  agents: number;
};

/** What `root.start` is answered with: the settings that are valid now. */
export type RootStarted = RootRow & { settings: readonly AgentSettings[] };

/** Index `cluster`, key `placement`: how the workers of a cell are doing. */
export type PlacementRow = {
  /**
   * `unattended`: no worker serves; `settling`: one joined, drains or was lost within the last
   * seconds, shards move; `steady`: nothing of it
   */
  status: 'unattended' | 'settling' | 'steady';
  /** since when it has this status */
  since: number;
  /** workers that serve, those that drain among them */
  workers: number;
};

/** Index `workers`, key the worker's name. The row of a lost one leaves after an hour. */
export type WorkerRow = {
  name: string;
  node: string;
  state: 'active' | 'draining' | 'lost';
  /** since when it is in this state */
  since: number;
};

/** Index `alarms`, key the actor's address: actors that were given up and wait for a person. */
export type AlarmRow = {
  actor: Address;
  error: ErrorData;
  /** failures within the period that was too many */
  failures: number;
  at: number;
  poison: boolean;
};
