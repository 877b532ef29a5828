/** The events that the root can receive, and the invariants that hold on every path. */
import { ALARMS_MAX, FAILURES_MAX, WAITING_MAX } from '../../../actors/root/cluster.ts';
import { rootMachine } from '../../../actors/root/machine.ts';
import { WORKERS_MAX } from '../../../actors/root/placement.ts';
import type { RootContext } from '../../../actors/root/types.ts';
import { BATCH } from '../../../actors/supervisor/outbox.ts';
import { address, type Address } from '../../../protocols/address.ts';
import type { AgentSettings } from '../../../protocols/agent.ts';
import type { Message, Project, Reply, Tell } from '../../../protocols/statechart.ts';
import type {
  Down,
  PlacementRow,
  RootRow,
  RootStarted,
  WorkerRow,
} from '../../../protocols/supervision.ts';
import type { Live } from '../../../runtime/statechart/host.ts';
import {
  demand,
  type Exploration,
  type Happened,
  type Ledger,
  type Move,
  requestsOf,
} from '../../charts/coverage.ts';

const self = address('default', 'root', 'cluster');
const contextOf = (live: Live) => live.snapshot.context as RootContext;
const agents = (count: number): AgentSettings[] =>
  Array.from({ length: count }, (_, n) => ({
    agentId: `a${n}`,
    timeoutMs: 1_000,
    runsMax: 1,
    tokensPerDay: 0,
  }));

const down = (child: Address, escalated = false): Down => ({
  type: 'supervision.down',
  child,
  error: { code: 'INTERNAL', message: 'it threw' },
  crashes: 1,
  at: 0,
  poison: false,
  ...(escalated ? { escalated: true } : {}),
});

/** Which actors wait for an order, which workers have reported, and the projected rows. */
class Watch implements Ledger {
  /** actors that failed and have no order yet */
  readonly suspended: Set<string>;
  readonly alarms: Set<string>;
  starters: number;
  row: RootRow | undefined;
  /** projected rows, by name */
  readonly workers: Map<string, WorkerRow>;
  placement: PlacementRow | undefined;
  settings: readonly AgentSettings[];

  constructor(from?: Watch) {
    this.suspended = new Set(from?.suspended);
    this.alarms = new Set(from?.alarms);
    this.starters = from?.starters ?? 0;
    this.row = from?.row;
    this.workers = new Map(from?.workers);
    this.placement = from?.placement;
    this.settings = from?.settings ?? [];
  }

  copy(): Ledger {
    return new Watch(this);
  }

  take({ cause, step }: Happened): void {
    const event = cause.event as Message & { child: string };
    const context = contextOf(step.live);
    if (event.type === 'supervision.down') this.suspended.add(event.child);
    const tells = requestsOf<Tell>(step.requests, 'tell');
    demand(tells.length).toBeLessThanOrEqual(BATCH);
    for (const tell of tells) this.#order(tell);
    const outbox = context.outbox.tells.filter(isOrder).map(({ to }) => to);
    const waiting = context.waiting.map(({ child }) => child);
    demand(new Set([...waiting, ...outbox])).toEqual(this.suspended);
    demand(waiting.length).toBeLessThanOrEqual(WAITING_MAX);
    demand(context.failures.length).toBeLessThanOrEqual(FAILURES_MAX);
    for (const { index, key, value } of requestsOf<Project>(step.requests, 'project')) {
      if (index === 'cluster' && key === 'placement') this.placement = value as PlacementRow;
      else if (index === 'cluster') this.row = value as RootRow;
      else if (index === 'workers' && value === null) this.workers.delete(key);
      else if (index === 'workers') this.workers.set(key, value as WorkerRow);
      else if (value === null) this.alarms.delete(key);
      else this.alarms.add(key);
    }
    demand(this.alarms).toEqual(new Set(context.alarms));
    demand(this.alarms.size).toBeLessThanOrEqual(ALARMS_MAX);
    const { life, placement } = step.live.snapshot.value as { life: string; placement: string };
    this.#settings(event, context);
    this.#placement(context, placement);
    demand(this.row?.status ?? 'unstarted').toBe(life);
    this.#answers(event, requestsOf<Reply>(step.requests, 'reply'), life);
  }

  /** A seed provides the settings of a cell that has none, and changes no others. */
  #settings(event: Message, { agents: settings }: RootContext): void {
    const given = givenBy(event, this.settings);
    const kept = !given || (event['seed'] === true && this.settings.length > 0);
    demand(settings).toEqual(kept ? this.settings : given);
    this.settings = settings;
  }

  #placement({ workers }: RootContext, placement: string): void {
    demand(this.placement?.status ?? 'unattended').toBe(placement);
    demand(workers.length).toBeLessThanOrEqual(WORKERS_MAX);
    const serving = (all: Iterable<WorkerRow>) =>
      [...all].filter(({ state }) => state !== 'lost').sort(byName);
    demand(serving(this.workers.values())).toEqual(serving(workers));
    if (placement === 'unattended') demand(serving(workers)).toEqual([]);
    else demand(this.placement?.workers).toBe(serving(workers).length);
    if (placement === 'steady') demand(serving(workers)).toHaveLength(workers.length);
  }

  #order(tell: Tell): void {
    if (!isOrder(tell)) return;
    demand(tell.event.type.startsWith('sys.') ? tell.lane : 'control').toBe('control');
    demand(this.suspended.delete(tell.to), `one order for ${tell.to}`).toBe(true);
    const { to, event } = tell;
    const kept = to.includes('/session/') || to.includes('/agent/');
    if (kept) demand(event.type).not.toBe('sys.restart');
  }

  #answers({ type }: Message, replies: readonly Reply[], life: string): void {
    if (type === 'root.start') this.starters++;
    const answers = replies.filter(({ to }) => to);
    const direct = /^(root\.(drain|stopped)|alarm\.dismiss)$/.test(type);
    for (const { result } of type === 'root.start' ? answers : [])
      demand((result as RootStarted).settings).toEqual(this.settings);
    if (direct) demand(answers.length).toBe(1);
    else if (life === 'running' && this.starters > 0) {
      demand(answers.map(({ result }) => (result as RootRow).status)).toEqual(['running']);
      this.starters = 0;
    } else demand(answers).toEqual([]);
    if (life === 'draining' || life === 'stopped') this.starters = 0;
  }
}

const byName = (a: WorkerRow, b: WorkerRow): number => (a.name < b.name ? -1 : 1);

const isOrder = ({ event }: Tell): boolean => /^(sys|supervisor)\./.test(event.type);

const order = address('default', 'order', '7');
const child = (live: Live, type: string): Address => address('default', type, `n${live.seq}`);

/**
 * Reports of workers and about missing workers. This region does not depend on the others, so the
 * walk visits it while they are idle.
 */
const placementMoves = (live: Live, life: string): Move[] => {
  const { failures, workers } = contextOf(live);
  if (failures.length > 0 || life !== 'unstarted') return [];
  const tell = (name: string, type: string, worker: { name: string; node: string }): Move => ({
    name,
    event: { type: `worker.${type}`, name: worker.name, node: worker.node },
    tell: true,
  });
  const first = { name: 'one', node: 'one.1' };
  const replaced = workers.some(({ node }) => node === 'one.2');
  return [
    ...(replaced ? [] : [tell('one joins', 'joined', first)]),
    tell('one joins again', 'joined', { name: 'one', node: 'one.2' }),
    tell('another joins', 'joined', { name: 'two', node: 'two.1' }),
    tell('many join', 'joined', { name: `n${live.seq}`, node: `n${live.seq}.1` }),
    ...['draining', 'left', 'lost'].flatMap((type) => [
      tell(`one is ${type}`, type, first),
      tell(`another is ${type}`, type, { name: 'two', node: 'two.1' }),
    ]),
  ];
};

const again = ['timer:restartBackoff', 'it fails again'];

export const exploration: Exploration = {
  machine: rootMachine,
  self,
  ledger: () => new Watch(),
  moves: (live) => {
    const { unconfirmed, failures, alarms, waiting, outbox } = contextOf(live);
    const last = failures.at(-1)?.child;
    const isSuspended = (one: Address) =>
      waiting.some((item) => item.child === one) || outbox.tells.some(({ to }) => to === one);
    const fails = (name: string, event: Down) => ({
      name,
      event,
      from: event.child,
      tell: true as const,
    });
    const agent = address('default', 'agent', 'a0');
    // While the root starts, the next start request waits in the stash.
    const { life } = live.snapshot.value as { life: string };
    const starts = life === 'starting' ? [] : [0, 2, 40];
    return [
      ...placementMoves(live, life),
      ...starts.map((count) => ({
        name: `start with ${count}`,
        event: { type: 'root.start', agents: agents(count) },
      })),
      ...starts.slice(0, failures.length === 0 ? 2 : 0).map((count) => ({
        name: `seed with ${count}`,
        event: { type: 'root.start', agents: agents(count), seed: true },
      })),
      ...starts.slice(0, failures.length === 0 ? 1 : 0).map(() => ({
        name: 'amend an agent',
        event: { type: 'root.amend', agents: [{ agentId: 'a1', settings: null }] },
        tell: true as const,
      })),
      { name: 'drain', event: { type: 'root.drain' } },
      { name: 'stopped', event: { type: 'root.stopped' } },
      ...(unconfirmed[0]
        ? [
            {
              name: 'confirmed',
              event: { type: 'reply', to: 'm' },
              from: unconfirmed[0],
              tell: true as const,
            },
          ]
        : []),
      { name: 'reply of another', event: { type: 'reply', to: 'm' }, from: order, tell: true },
      ...(isSuspended(order) ? [] : [fails('an order fails', down(order))]),
      ...(isSuspended(agent) ? [] : [fails('an agent fails', down(agent))]),
      fails('a session fails', down(child(live, 'session'))),
      fails('an unknown actor fails', down(child(live, 'cart'))),
      ...(last && !isSuspended(last) ? [fails('it fails again', down(last))] : []),
      fails('a supervisor gives up', down(child(live, 'supervisor'), true)),
      { name: 'dismiss', event: { type: 'alarm.dismiss', actor: alarms[0] ?? order } },
      { name: 'dismiss nothing', event: { type: 'alarm.dismiss', actor: self } },
    ];
  },
  key: (live) => {
    const { unconfirmed, failures, waiting, alarms, outbox, workers } = contextOf(live);
    const { life, placement } = live.snapshot.value as { life: string; placement: string };
    if (workers.length > 0) {
      const resting = life === 'unstarted' && failures.length === 0;
      if (!resting || workers.length > 3) return [placement, workers.length >= WORKERS_MAX];
      return [placement, workers.map(({ node, state }) => [node.replace(/^n.*/, 'n'), state])];
    }
    if (waiting.length >= WAITING_MAX) return ['full'];
    if (alarms.length >= ALARMS_MAX) {
      const last = failures.at(-1)?.child;
      const ofLast = failures.filter((failure) => failure.child === last).length;
      return [live.snapshot.value, 'alarming', ofLast];
    }
    const ofOrder = failures.filter((failure) => failure.child === order).length;
    return [
      live.snapshot.value,
      unconfirmed.length > 0,
      Math.min(waiting.length, 2),
      ofOrder,
      Math.min(alarms.length, 1),
      outbox.tells.length > 0,
      failures.length === 0 && contextOf(live).agents.length > 0,
    ];
  },
  scripts: [
    Array<string>(WORKERS_MAX + 1).fill('many join'),
    ['one joins', ...Array<string>(WORKERS_MAX).fill('many join'), 'one is lost'],
    Array<string>(WAITING_MAX).fill('a session fails'),
    Array.from({ length: ALARMS_MAX }, () => [
      'a session fails',
      ...again,
      ...again,
      ...again,
    ]).flat(),
  ],
};

/** The agents that a message sets; an amendment without settings retires an agent. */
function givenBy(
  event: Message,
  before: readonly AgentSettings[],
): readonly AgentSettings[] | undefined {
  if (event.type === 'root.start') return event['agents'] as AgentSettings[];
  if (event.type !== 'root.amend') return undefined;
  const [{ agentId } = { agentId: '' }] = event['agents'] as { agentId: string }[];
  return before.filter((one) => one.agentId !== agentId);
}
