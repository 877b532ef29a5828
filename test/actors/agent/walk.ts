/** The events that an agent can receive, and the invariants that hold on every path. */
import { agentMachine } from '../../../actors/agent/machine.ts';
import { ASKED_MAX } from '../../../actors/agent/shared.ts';
import { ANSWERS_PER_TURN, held, WAITING_MAX } from '../../../actors/agent/slots.ts';
import type { AgentContext } from '../../../actors/agent/types.ts';
import { address } from '../../../protocols/address.ts';
import type { AgentAdmitted, AgentRow, AgentSettings } from '../../../protocols/agent.ts';
import {
  budgetAddress,
  type BudgetConfigure,
  type BudgetRelease,
  type BudgetTake,
} from '../../../protocols/budget.ts';
import { defined } from '../../../protocols/defined.ts';
import type { Message, Project, Reply, Tell } from '../../../protocols/statechart.ts';
import type { Live } from '../../../runtime/statechart/host.ts';
import {
  demand,
  type Exploration,
  type Happened,
  type Move,
  requestsOf,
} from '../../charts/coverage.ts';

const self = address('default', 'agent', 'main');
const budget = budgetAddress('default');
const contextOf = (live: Live) => live.snapshot.context as AgentContext;

const settings = (runsMax: number, more: Partial<AgentSettings> = {}): AgentSettings => ({
  agentId: 'main',
  timeoutMs: 1_000,
  runsMax,
  tokensPerDay: 0,
  ...more,
});
/** By the name of the event that configures them. */
const configurations: Readonly<Record<string, AgentSettings>> = {
  '1': settings(1),
  '1 poor': settings(1, { tokensPerDay: 100 }),
  '100': settings(100),
  'no limit': settings(0),
  '2 with others': settings(2, { tenant: { runsMax: 1, tokensPerDay: 1_000 } }),
  '100 with others': settings(100, { tenant: { runsMax: 10 } }),
};

type BudgetEvent = BudgetConfigure | BudgetTake | BudgetRelease;

/** Whether a run, by its name, was caused by another agent's run. */
const isNested = (runId: string): boolean => runId.startsWith('nested');

/** The agent's open obligations to its callers, and the rows that it has projected. */
class Slots {
  /** runs that requested a slot and have neither an answer nor a release */
  readonly open: Set<string>;
  /** by run, the leases of admitted runs: two if it requested again */
  readonly admitted: Map<string, readonly number[]>;
  /** tenant slots that were requested and neither returned nor used */
  readonly places: Set<string>;
  /** runs that requested a slot as ones that another agent's run caused */
  readonly nested: Set<string>;
  row: AgentRow | undefined;

  constructor(from?: Slots) {
    this.nested = new Set(from?.nested);
    this.open = new Set(from?.open);
    this.admitted = new Map(from?.admitted);
    this.places = new Set(from?.places);
    this.row = from?.row;
  }

  copy(): Slots {
    return new Slots(this);
  }

  take({ cause, meta, step }: Happened): void {
    const event = cause.event as Message & { runId: string };
    const context = contextOf(step.live);
    const all = requestsOf<Tell>(step.requests, 'tell');
    const tells = all.filter(({ to }) => to !== budget);
    for (const one of all) if (one.to === budget) this.#account(one.event as BudgetEvent);
    if (event.type === 'budget.refused') this.places.delete(event.runId);
    if (event.type === 'agent.admit' && meta.from) this.#ask(event);
    if (event.type === 'agent.release' && step.outcome !== 'ignored') {
      this.open.delete(event.runId);
      this.#letGo(event);
    }
    if (event.type === 'agent.return') this.#letGo(event);
    for (const { to, event: answer } of tells) {
      const runId = answer['runId'] as string;
      demand(to).toBe(address('default', 'session', `of-${runId}`));
      demand(this.open.delete(runId), `an answer to ${runId}`).toBe(true);
      if (answer.type === 'agent.admitted') {
        const leases = this.admitted.get(runId) ?? [];
        const { lease, standing } = answer as unknown as AgentAdmitted;
        this.admitted.set(runId, [...leases, lease]);
        const isUnlimited = context.settings!.runsMax === 0;
        demand(standing !== undefined, 'a standing lease').toBe(isUnlimited);
        const isSlotless = isUnlimited || this.nested.has(runId);
        demand(lease === 0, 'a run without a slot').toBe(isSlotless);
        if (!isSlotless)
          demand(held(context, meta.now)).toBeLessThanOrEqual(context.settings!.runsMax);
      }
    }
    const leases = [...this.admitted.values()].flat().filter((until) => meta.now < until);
    demand(held(context, meta.now)).toBe(leases.length);
    demand(all.length).toBeLessThanOrEqual(ANSWERS_PER_TURN + 1);
    demand(context.waiting.filter(({ asked }) => asked).length).toBeLessThanOrEqual(ASKED_MAX);
    // The agent keeps no slot of the tenant that it does not need.
    if (context.settings?.tenant?.runsMax) {
      const needed = new Set([...this.open, ...this.admitted.keys()]);
      demand([...this.places].filter((runId) => !needed.has(runId))).toEqual([]);
    }
    demand(context.waiting.map(({ runId }) => runId)).toEqual([...this.open]);
    demand(context.leases.length).toBeLessThanOrEqual(18);
    const state = JSON.stringify(step.live.snapshot.value);
    // Holds even when all slots of the agent are taken.
    if (/open|crowded/.test(state))
      demand([...this.open].filter((id) => this.nested.has(id))).toEqual([]);
    this.#checkRow(step, meta.now);
    const asked = requestsOf<Reply>(step.requests, 'reply').filter(({ to }) => to?.id === meta.id);
    const wantsReply =
      event.type === 'agent.configure' ||
      (event.type === 'agent.allow' && meta.reply !== undefined) ||
      (event.type === 'agent.admit' && !meta.from);
    demand(asked.length).toBe(wantsReply ? 1 : 0);
  }

  #ask({ runId, nested }: { readonly runId: string; readonly nested?: unknown }): void {
    if (nested) this.nested.add(runId);
    else if (!this.open.has(runId)) this.nested.delete(runId);
    this.open.add(runId);
  }

  #letGo({ runId, lease }: { readonly runId: string; readonly lease?: unknown }): void {
    const leases = [...(this.admitted.get(runId) ?? [])];
    const at = leases.indexOf(lease as number);
    if (at >= 0) leases.splice(at, 1);
    if (leases.length > 0) this.admitted.set(runId, leases);
    else this.admitted.delete(runId);
  }

  #account(event: BudgetEvent): void {
    if (event.type === 'budget.take') this.places.add(event.runId);
    if (event.type === 'budget.release') this.places.delete(event.runId);
    // The tenant forgets slots when it no longer limits runs.
    if (event.type === 'budget.configure' && !event.ceilings.runsMax) this.places.clear();
  }

  #checkRow({ live, requests }: Happened['step'], now: number): void {
    for (const { value } of requestsOf<Project>(requests, 'project')) this.row = value as AgentRow;
    if (!this.row) return;
    const { waiting } = contextOf(live);
    const running = held(contextOf(live), now);
    demand(this.row.waiting).toBe(waiting.length);
    // Slots expire between turns, without a turn that reports it.
    demand(this.row.running).toBeGreaterThanOrEqual(running);
    const state = JSON.stringify(live.snapshot.value);
    demand(state).toContain(this.row.status);
    const gives = this.row.status === 'active' && contextOf(live).settings?.runsMax === 0;
    demand(this.row.standing !== undefined, 'a standing lease while runs may start').toBe(gives);
  }
}

const release = (runId: string, lease?: number, inputTokens = 1): Message => ({
  type: 'agent.release',
  runId,
  usage: { inputTokens, outputTokens: 0 },
  ...defined({ lease }),
});

const withoutReply = (name: string, event: Message) => ({ name, event, tell: true as const });

const ownSession = address('default', 'session', 'agent:main:main');
const allow = (name: string, from = ownSession, pattern = 'git status'): Move => ({
  name: `allow ${name}`,
  event: { type: 'agent.allow', pattern, by: 'op' },
  from,
});

/** An operator's decisions about commands. */
const allowances: readonly Move[] = [
  allow('by an own session'),
  allow('nothing', ownSession, ' '),
  allow('by the session of another', address('default', 'session', 'agent:other:main')),
];

/** Messages of the tenant's budget, to one run or to all. */
const fromTenant = (name: string, event: Message): Move => ({
  name: `tenant: ${name}`,
  event,
  from: budget,
  tell: true,
});
const error = { code: 'RATE_LIMIT_EXCEEDED', message: 'spent' };

const tenantMoves = ({ waiting }: AgentContext): Move[] => {
  const asked = waiting.find((slot) => slot.asked)?.runId ?? 'gone';
  return [
    fromTenant('taken', { type: 'budget.taken', runId: asked }),
    fromTenant('refused', { type: 'budget.refused', runId: asked, error }),
    fromTenant('spent', { type: 'budget.spent', day: '1970-01-01', error }),
    fromTenant('opened', { type: 'budget.opened' }),
  ];
};

export const exploration: Exploration = {
  machine: agentMachine,
  self,
  ledger: () => new Slots(),
  moves: (live, _now, ledger) => {
    const { waiting, settings: set } = contextOf(live);
    const ask = (runId: string) => ({
      name: 'admit',
      event: { type: 'agent.admit', runId, ...(isNested(runId) ? { nested: true } : {}) },
      from: address('default', 'session', `of-${runId}`),
      tell: true as const,
    });
    const { admitted } = ledger as Slots;
    const [first, leases = []] = [...admitted][0] ?? [];
    const twice = [...admitted].find(([, { length }]) => length > 1);
    const last = waiting.at(-1)?.runId;
    return [
      ...Object.entries(configurations).map(([name, one]) => ({
        name: `configure ${name}`,
        event: { type: 'agent.configure', settings: one },
      })),
      ...allowances,
      ...(set?.tenant ? tenantMoves(contextOf(live)) : []),
      ask(`r${live.seq}`),
      { ...ask(`nested${live.seq}`), name: 'admit nested' },
      { name: 'admit without a caller', event: { type: 'agent.admit', runId: 'x' } },
      ...(first ? [{ ...ask(first), name: 'admit again' }] : []),
      ...(last ? [{ ...ask(last), name: 'admit again while waiting' }] : []),
      ...(last
        ? [
            {
              ...ask(last),
              name: 'hurry',
              event: { type: 'agent.admit', runId: last, nested: true },
            },
          ]
        : []),
      ...(first ? [withoutReply('release', release(first, leases[0]))] : []),
      ...(first && set?.tokensPerDay
        ? [withoutReply('release with all tokens', release(first, leases[0], 100))]
        : []),
      ...(last ? [withoutReply('give up', release(last, undefined, 0))] : []),
      ...(twice
        ? [withoutReply('return', { type: 'agent.return', runId: twice[0], lease: twice[1][1] })]
        : []),
      ...['agent.pause', 'agent.resume', 'agent.retire'].map((type) => ({
        name: type,
        event: { type },
        tell: true as const,
      })),
    ];
  },
  key: (live) => {
    const { leases, waiting, settings: set, tokensToday, tenantSpent } = contextOf(live);
    const running = leases.reduce((sum, [, runs]) => sum + runs, 0);
    const { value } = live.snapshot;
    const asked = waiting.filter((slot) => slot.asked).length;
    if (waiting.length > 2)
      return [value, waiting.length >= WAITING_MAX, waiting.length > ANSWERS_PER_TURN, asked > 0];
    const spent = Boolean(set?.tokensPerDay) && tokensToday >= 100;
    return [
      value,
      Math.min(running, 3),
      waiting.length,
      waiting.some(({ nested }) => nested),
      Object.values(configurations).findIndex((one) => JSON.stringify(one) === JSON.stringify(set)),
      spent,
      asked,
      tenantSpent !== null,
    ];
  },
  scripts: [
    ['configure 100', 'admit', 'admit again'],
    ['configure 100', 'admit', 'admit again', 'agent.pause'],
    ['configure 100', 'admit', 'admit again', 'agent.retire'],
    ['configure 1', ...Array<string>(40).fill('admit')],
    ['configure 1', ...Array<string>(WAITING_MAX + 1).fill('admit')],
    ['configure 1', 'agent.pause', ...Array<string>(WAITING_MAX).fill('admit')],
    ['configure 1', 'agent.pause', ...Array<string>(40).fill('admit'), 'agent.retire'],
    ['configure 1', 'agent.pause', ...Array<string>(40).fill('admit nested'), 'agent.resume'],
    ['configure 1', 'admit', 'admit', 'agent.pause', 'admit', 'admit nested', 'agent.resume'],
  ],
};
