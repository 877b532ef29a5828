import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
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
  type Exploration,
  explore,
  follow,
  type Happened,
  type Ledger,
  type Move,
  said,
  stroll,
} from '../../charts/coverage.ts';

const self = address('default', 'supervisor', 'shop');
const contextOf = (live: Live) => live.snapshot.context as SupervisorContext;
const spec = (key: string, action?: ChildSpec['action']): ChildSpec => ({
  child: address('default', key.startsWith('s') ? 'supervisor' : 'order', key),
  start: { type: 'order.open' },
  ...(action ? { action } : {}),
});
const [a, b, c, d, s] = [
  spec('a'),
  spec('b', 'resume'),
  spec('c', 'quarantine'),
  spec('d'),
  spec('s'),
] as [ChildSpec, ChildSpec, ChildSpec, ChildSpec, ChildSpec];
const start = (options: Partial<SupervisorStart>): Message => ({
  type: 'supervisor.start',
  children: [a, b, c, d, s],
  ...options,
});
const down = ({ child }: ChildSpec, escalated = false): Down => ({
  type: 'supervision.down',
  child,
  error: { code: 'INTERNAL', message: 'it threw' },
  crashes: 1,
  at: 0,
  poison: false,
  ...(escalated ? { escalated: true } : {}),
});

/** Which children failed and have no order yet, and what the supervisor above was told. */
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
    const tells = said<Tell>(step.asks, 'tell');
    expect(tells.length).toBeLessThanOrEqual(BATCH + 1);
    for (const { to, event: order, lane, supervise } of tells) {
      if (/^(sys|supervisor)\./.test(order.type)) {
        expect(lane).toBe('control');
        this.failed.delete(to);
      } else if (order.type === 'order.open')
        expect({ lane, supervise }).toEqual({ lane: 'control', supervise: true });
    }
    const pending = new Set([
      ...waiting.map(({ child }) => child),
      ...outbox.tells.map(({ to }) => to),
    ]);
    for (const child of this.failed) expect(pending, `${child} gets an order`).toContain(child);
    const state = JSON.stringify(step.live.snapshot.value);
    const halted = state.includes('halted');
    const told = tells.filter(({ event: one }) => one.type === 'supervision.down');
    const gaveUp = halted && !this.halted && event.type === 'supervision.down';
    expect(told.map(({ to }) => to)).toEqual(gaveUp ? [plan.parent] : []);
    this.halted = halted;
    for (const { value } of said<Project>(step.asks, 'project')) this.row = value as SupervisorRow;
    const status = halted ? 'halted' : state.includes('unconfigured') ? undefined : 'supervising';
    expect(this.row?.status).toBe(status);
    if (status)
      expect(this.row).toMatchObject({ children: children.length, strategy: plan.strategy });
    const asked = /^supervisor\.(start|add|remove)$/.test(event.type) && step.outcome !== 'ignored';
    expect(said<Reply>(step.asks, 'reply').map(({ to }) => to?.id)).toEqual(asked ? [meta.id] : []);
  }
}

const many = Array.from({ length: 40 }, (_, n) => spec(`o${n}`));
const UNFIT: [string, Message][] = [
  ['children', start({ children: 'all' as never })],
  ['too many', start({ children: Array.from({ length: 101 }, (_, n) => spec(`o${n}`)) })],
  ['no address', start({ children: [{ child: 'nobody' as never, start: { type: 'x' } }] })],
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

const exploration: Exploration = {
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
      { name: 'remove nobody', event: { type: 'supervisor.remove', child: self } },
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

/** What a supervisor in its first state answers to events in order; timers fire in between. */
function conversation(...events: Message[]): { told: string[]; replies: Reply[] } {
  const told: string[] = [];
  const replies: Reply[] = [];
  const ledger: Ledger = {
    copy: () => ledger,
    take: ({ step }) => {
      replies.push(...said<Reply>(step.asks, 'reply'));
      for (const { to, event } of said<Tell>(step.asks, 'tell'))
        told.push(`${event.type} ${to.split('/').at(-1)}`);
    },
  };
  const moves = () => events.map((event, n) => ({ name: `${n}`, event }));
  const isTimer = (event: Message) => event.type === 'time';
  follow(
    { ...exploration, ledger: () => ledger, moves },
    events.map((event, n) => (isTimer(event) ? 'timer:restartBackoff' : `${n}`)),
  );
  return { told, replies };
}
const time: Message = { type: 'time' };

describe('the supervisor chart', () => {
  it('has no state and no transition that nothing reaches, and keeps its promises on every path', () => {
    expect(explore(exploration).unreached).toEqual([]);
  });

  it('keeps its promises on long paths in any order', () => {
    const picks = fc.array(fc.nat(), { minLength: 20, maxLength: 80 });
    fc.assert(
      fc.property(picks, (list) => stroll(exploration, list)),
      { numRuns: 200 },
    );
  });

  it('creates its children in order and makes them its own', () => {
    const { told } = conversation(start({ children: [a, d] }));
    expect(told).toEqual(['order.open a', 'order.open d']);
  });

  it('restarts the child and those after it, rest for one, and tells each how to start', () => {
    const first = start({ children: [a, d, s], strategy: 'rest-for-one' });
    const { told } = conversation(first, down(d), time);
    expect(told.slice(3)).toEqual(['sys.restart d', 'order.open d', 'supervisor.restart s']);
  });

  it('resumes a child alone, whatever the strategy', () => {
    const { told } = conversation(
      start({ children: [a, b], strategy: 'one-for-all' }),
      down(b),
      time,
    );
    expect(told.slice(2)).toEqual(['sys.resume b']);
  });

  it('gives up past the intensity: it ends all, the last first, and tells the supervisor above', () => {
    const first = start({ children: [a, d], intensity: 1 });
    const { told } = conversation(first, down(a), time, down(a));
    expect(told.slice(4).sort()).toEqual(['supervision.down cluster', 'sys.stop a', 'sys.stop d']);
    expect(told.indexOf('sys.stop d')).toBeLessThan(told.indexOf('sys.stop a'));
  });

  it('begins again when it is told to: every child, with no failure on record', () => {
    const first = start({ children: [a], intensity: 0 });
    const { told } = conversation(first, down(a), { type: 'supervisor.restart' });
    expect(told.slice(-2)).toEqual(['sys.restart a', 'order.open a']);
  });

  it('changes nothing when it is told the same again', () => {
    expect(conversation(start({}), start({})).told).toHaveLength(5);
  });

  it.each(UNFIT)('refuses to be told what makes no sense: %s', (_, event) => {
    const { replies, told } = conversation(event);
    expect(replies).toMatchObject([{ error: { code: 'INVALID_ARGUMENT' } }]);
    expect(told).toEqual([]);
  });
});
