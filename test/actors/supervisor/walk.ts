/** The events that a supervisor can receive, and the invariants that hold on every path. */
import { supervisorMachine } from '../../../actors/supervisor/machine.ts';
import { BATCH } from '../../../actors/supervisor/outbox.ts';
import type { SupervisorContext } from '../../../actors/supervisor/types.ts';
import { address } from '../../../protocols/address.ts';
import type { Message, Project, Reply, Tell } from '../../../protocols/statechart.ts';
import {
  type ChildSpec,
  type Down,
  type SupervisorRow,
  type SupervisorStart,
} from '../../../protocols/supervision.ts';
import type { Live } from '../../../runtime/statechart/host.ts';
import {
  demand,
  type Exploration,
  follow,
  type Happened,
  type Ledger,
  type Move,
  requestsOf,
} from '../../charts/coverage.ts';

const self = address('default', 'supervisor', 'shop');
const contextOf = (live: Live) => live.snapshot.context as SupervisorContext;
const spec = (key: string, action?: ChildSpec['action']): ChildSpec => ({
  child: address('default', key.startsWith('s') ? 'supervisor' : 'order', key),
  start: { type: 'order.open' },
  ...(action ? { action } : {}),
});
export const [a, b, c, d, s] = [
  spec('a'),
  spec('b', 'resume'),
  spec('c', 'quarantine'),
  spec('d'),
  spec('s'),
] as [ChildSpec, ChildSpec, ChildSpec, ChildSpec, ChildSpec];
export const start = (options: Partial<SupervisorStart>): Message => ({
  type: 'supervisor.start',
  children: [a, b, c, d, s],
  ...options,
});
export const down = ({ child }: ChildSpec, escalated = false): Down => ({
  type: 'supervision.down',
  child,
  error: { code: 'INTERNAL', message: 'it threw' },
  crashes: 1,
  at: 0,
  poison: false,
  ...(escalated ? { escalated: true } : {}),
});

/** Which children failed and have no order yet, and the reports to the supervisor above. */
class Care implements Ledger {
  readonly failed: Set<string>;
  halted: boolean;
  row: SupervisorRow | undefined;

  constructor(from?: Care) {
    this.failed = new Set(from?.failed);
    this.halted = from?.halted ?? false;
    this.row = from?.row;
  }

  copy(): Ledger {
    return new Care(this);
  }

  take({ cause, meta, step }: Happened): void {
    const event = cause.event as Message & { child: string };
    const { outbox, waiting, plan, children } = contextOf(step.live);
    if (event.type === 'supervision.down' && step.outcome !== 'ignored')
      this.failed.add(event.child);
    const tells = requestsOf<Tell>(step.requests, 'tell');
    demand(tells.length).toBeLessThanOrEqual(BATCH + 1);
    for (const { to, event: order, lane, supervise } of tells) {
      if (/^(sys|supervisor)\./.test(order.type)) {
        demand(lane).toBe('control');
        this.failed.delete(to);
      } else if (order.type === 'order.open')
        demand({ lane, supervise }).toEqual({ lane: 'control', supervise: true });
    }
    const pending = new Set([
      ...waiting.map(({ child }) => child),
      ...outbox.tells.map(({ to }) => to),
    ]);
    for (const child of this.failed) demand(pending, `${child} gets an order`).toContain(child);
    const state = JSON.stringify(step.live.snapshot.value);
    const halted = state.includes('halted');
    const reports = tells.filter(({ event: one }) => one.type === 'supervision.down');
    const gaveUp = halted && !this.halted && event.type === 'supervision.down';
    demand(reports.map(({ to }) => to)).toEqual(gaveUp ? [plan.parent] : []);
    this.halted = halted;
    for (const { value } of requestsOf<Project>(step.requests, 'project'))
      this.row = value as SupervisorRow;
    const status = halted ? 'halted' : state.includes('unconfigured') ? undefined : 'supervising';
    demand(this.row?.status).toBe(status);
    if (status)
      demand(this.row).toMatchObject({ children: children.length, strategy: plan.strategy });
    const asked = /^supervisor\.(start|add|remove)$/.test(event.type) && step.outcome !== 'ignored';
    demand(requestsOf<Reply>(step.requests, 'reply').map(({ to }) => to?.id)).toEqual(
      asked ? [meta.id] : [],
    );
  }
}

const many = Array.from({ length: 40 }, (_, n) => spec(`o${n}`));
export const UNFIT: [string, Message][] = [
  ['children', start({ children: 'all' as never })],
  ['too many', start({ children: Array.from({ length: 101 }, (_, n) => spec(`o${n}`)) })],
  ['no address', start({ children: [{ child: 'no-address' as never, start: { type: 'x' } }] })],
  ['twice', start({ children: [a, a] })],
  ['itself', start({ children: [{ child: self, start: { type: 'x' } }] })],
  ['no start', start({ children: [{ child: a.child } as never] })],
  ['action', start({ children: [{ ...a, action: 'retry' as never }] })],
  ['strategy', start({ strategy: 'all' as never })],
  ['whenExceeded', start({ whenExceeded: 'shout' as never })],
  ['intensity', start({ intensity: -1 })],
  ['periodMs', start({ periodMs: 0.5 })],
  ['backoff', start({ backoff: { firstMs: -1 } })],
  ['parent', start({ parent: self })],
];

export const exploration: Exploration = {
  machine: supervisorMachine,
  self,
  ledger: () => new Care(),
  moves: (live): Move[] => {
    const { waiting, outbox } = contextOf(live);
    const busy = (one: ChildSpec) =>
      waiting.some((item) => item.child === one.child) ||
      outbox.tells.some(({ to }) => to === one.child);
    const fails = (name: string, one: ChildSpec, escalated = false): Move[] =>
      busy(one) ? [] : [{ name, event: down(one, escalated), from: one.child, tell: true }];
    return [
      ...(['one-for-one', 'one-for-all', 'rest-for-one'] as const).map((strategy) => ({
        name: `start ${strategy}`,
        event: start({ strategy }),
      })),
      {
        name: 'start other',
        event: start({
          children: [d, a],
          whenExceeded: 'quarantine',
          intensity: 1,
          parent: d.child,
        }),
      },
      { name: 'start many', event: start({ children: many, strategy: 'one-for-all' }) },
      { name: 'start unfit', event: start({ children: [a, a] }) },
      { name: 'add', event: { type: 'supervisor.add', child: spec('z') } },
      { name: 'add known', event: { type: 'supervisor.add', child: { ...a, action: 'resume' } } },
      { name: 'add unfit', event: { type: 'supervisor.add' } },
      { name: 'remove', event: { type: 'supervisor.remove', child: a.child } },
      { name: 'remove unknown child', event: { type: 'supervisor.remove', child: self } },
      { name: 'restart', event: { type: 'supervisor.restart' }, tell: true },
      { name: 'stop', event: { type: 'supervisor.stop' }, tell: true },
      ...fails('a fails', a),
      ...fails('b fails', b),
      ...fails('c fails', c),
      ...fails('d fails', d),
      ...fails('o0 fails', many[0]!),
      ...fails('s crashes', s),
      ...fails('s gives up', s, true),
      ...fails('a stranger fails', spec('x')),
    ];
  },
  key: (live) => {
    const { failures, waiting, children, plan, outbox } = contextOf(live);
    return [
      live.snapshot.value,
      failures.length,
      Math.min(waiting.length, 2),
      Math.min(children.length, 6),
      plan.strategy,
      plan.whenExceeded,
      outbox.tells.length > 0,
    ];
  },
};

/**
 * What a supervisor in its initial state sends and replies to these events, in order. Its timer
 * fires for each event `time`.
 */
export function outputsOf(...events: Message[]): { sent: string[]; replies: Reply[] } {
  const sent: string[] = [];
  const replies: Reply[] = [];
  const ledger: Ledger = {
    copy: () => ledger,
    take: ({ step }) => {
      replies.push(...requestsOf<Reply>(step.requests, 'reply'));
      for (const { to, event } of requestsOf<Tell>(step.requests, 'tell'))
        sent.push(`${event.type} ${to.split('/').at(-1)}`);
    },
  };
  const moves = () => events.map((event, n) => ({ name: `${n}`, event }));
  const isTimer = (event: Message) => event.type === 'time';
  follow(
    { ...exploration, ledger: () => ledger, moves },
    events.map((event, n) => (isTimer(event) ? 'timer:restartBackoff' : `${n}`)),
  );
  return { sent, replies };
}
export const time: Message = { type: 'time' };
