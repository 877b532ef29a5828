/** The events that a tenant's budget can receive, and the invariants that hold on every path. */
import { AGENTS_MAX, ANSWERS_PER_TURN, WAITING_MAX } from '../../../actors/budget/ledger.ts';
import { budgetMachine } from '../../../actors/budget/machine.ts';
import type { BudgetContext } from '../../../actors/budget/types.ts';
import { type Address, address } from '../../../protocols/address.ts';
import type { TenantCeilings } from '../../../protocols/agent.ts';
import { type BudgetRow, budgetAddress } from '../../../protocols/budget.ts';
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

const agent = (id: string) => address('default', 'agent', id);
const LEASE_MS = 1_000;

export const contextOf = (live: Live) => live.snapshot.context as BudgetContext;

/** Which runs have a slot, which wait for one, and the numbers that each agent has received. */
class Account {
  readonly waits: Set<string>;
  readonly places: Map<string, number>;
  readonly status: Map<Address, string>;
  runsMax: number;

  constructor(from?: Account) {
    this.waits = new Set(from?.waits);
    this.places = new Map(from?.places);
    this.status = new Map(from?.status);
    this.runsMax = from?.runsMax ?? 0;
  }

  copy(): Account {
    return new Account(this);
  }

  take(happened: Happened): void {
    const { cause, meta, step } = happened;
    const event = cause.event as Message & { runId: string };
    const isFromAgent = meta.from?.startsWith('default/agent/') === true;
    if (event.type.startsWith('budget.') && !isFromAgent) {
      demand(requestsOf<Reply>(step.requests, 'reply')).toMatchObject([
        { error: { code: 'FORBIDDEN' } },
      ]);
      return;
    }
    const isAgain = this.waits.has(event.runId) || this.#holds(event.runId, meta.now);
    this.#applyRequest(event, isAgain);
    const tells = requestsOf<Tell>(step.requests, 'tell');
    demand(tells.length).toBeLessThanOrEqual(ANSWERS_PER_TURN);
    for (const sent of tells) this.#checkSent(sent, meta.now, event);
    this.#check(happened);
  }

  #applyRequest(event: Message & { runId: string }, isAgain: boolean): void {
    if (event.type === 'budget.configure') {
      this.runsMax = (event['ceilings'] as TenantCeilings).runsMax ?? 0;
      if (this.runsMax === 0) this.places.clear();
    }
    if (event.type === 'budget.take' && !isAgain) this.waits.add(event.runId);
    if (event.type === 'budget.release') {
      this.waits.delete(event.runId);
      this.places.delete(event.runId);
    }
  }

  #checkSent({ to, event: sent }: Tell, now: number, cause: Message): void {
    const runId = sent['runId'] as string;
    if (sent.type === 'budget.spent' || sent.type === 'budget.opened') {
      this.status.set(to, sent.type);
      return;
    }
    if (sent.type === 'budget.taken' && this.#holds(runId, now)) {
      demand(cause, 'only a run that asks again is answered again').toMatchObject({ runId });
      return;
    }
    demand(this.waits.delete(runId), `one answer to ${runId}`).toBe(true);
    if (sent.type === 'budget.refused' || this.runsMax === 0) return;
    this.places.set(runId, now + LEASE_MS);
    const held = [...this.places.keys()].filter((id) => this.#holds(id, now));
    demand(held.length, 'places').toBeLessThanOrEqual(this.runsMax);
  }

  #holds(runId: string, now: number): boolean {
    return now < (this.places.get(runId) ?? 0);
  }

  #check({ meta, step }: Happened): void {
    const { spent, waiting, untold, agents } = contextOf(step.live);
    demand(waiting.map(({ runId }) => runId)).toEqual([...this.waits]);
    demand(agents.length).toBeLessThanOrEqual(AGENTS_MAX);
    for (const one of agents) {
      if (untold.includes(one)) continue;
      const received = this.status.get(one) ?? 'budget.opened';
      demand(received, `budget status that ${one} received`).toBe(
        spent ? 'budget.spent' : 'budget.opened',
      );
    }
    for (const { value } of requestsOf<Project>(step.requests, 'project')) {
      const row = value as BudgetRow;
      demand(row.status).toBe(spent ? 'spent' : 'open');
      demand(row.day).toBe(new Date(meta.now).toISOString().slice(0, 10));
      demand(row.waiting).toBe(waiting.length);
    }
  }
}

const tell = (name: string, event: Message, from: Address = agent('a')): Move => ({
  name,
  event,
  from,
  tell: true,
});
const configure = (name: string, ceilings: TenantCeilings, id: string): Move =>
  tell(`configure ${name} by ${id}`, { type: 'budget.configure', ceilings }, agent(id));
const take = (runId: string, id = 'a') => ({ type: 'budget.take', runId, forMs: LEASE_MS, id });
const release = (runId: string, inputTokens: number, costUsd?: number) => ({
  type: 'budget.release',
  runId,
  usage: { inputTokens, outputTokens: 0, ...defined({ costUsd }) },
});

const ceilings: Readonly<Record<string, TenantCeilings>> = {
  nothing: {},
  one: { runsMax: 1 },
  both: { tokensPerDay: 100, costPerDayUsd: 2, runsMax: 2 },
  more: { tokensPerDay: 1_000, runsMax: 2 },
};

const strangers: readonly Move[] = [
  { name: 'stranger configures', event: { type: 'budget.configure', ceilings: {} } },
  { name: 'stranger takes', event: take('x') },
  {
    name: 'stranger releases',
    event: release('x', 1_000_000),
    from: address('default', 'session', 'agent:a:main'),
  },
];

export const exploration: Exploration = {
  machine: budgetMachine,
  self: budgetAddress('default'),
  ledger: () => new Account(),
  moves: (live) => {
    const { running, waiting } = contextOf(live);
    const first = running[0]?.runId;
    const last = waiting.at(-1)?.runId;
    return [
      ...Object.entries(ceilings).flatMap(([name, one]) => [
        configure(name, one, 'a'),
        configure(name, one, 'b'),
      ]),
      tell(
        'configure both by one more',
        {
          type: 'budget.configure',
          ceilings: ceilings['both'],
        },
        agent(`n${live.seq}`),
      ),
      ...strangers,
      tell('take', take(`r${live.seq}`)),
      ...(first ? [tell('take again', take(first)), tell('release', release(first, 1))] : []),
      ...(last ? [tell('take while waiting', take(last)), tell('give up', release(last, 0))] : []),
      tell('use some', release('gone', 1)),
      tell('use all tokens', release('gone', 100)),
      tell('use all money', release('gone', 0, 2)),
    ];
  },
  key: (live) => {
    const { running, waiting, spent, agents, untold, ceilings: set } = contextOf(live);
    const { value } = live.snapshot;
    const many = waiting.length > ANSWERS_PER_TURN || agents.length > ANSWERS_PER_TURN;
    if (waiting.length > 2 || agents.length > 3)
      return [value, many, waiting.length >= WAITING_MAX, spent, untold.length > 0];
    return [value, running.length, waiting.length, spent, agents.length, untold.length, set];
  },
  scripts: [
    ['configure one by a', ...Array<string>(WAITING_MAX + 1).fill('take')],
    [...Array<string>(40).fill('configure both by one more'), 'use all tokens'],
    [
      'configure one by a',
      ...Array<string>(40).fill('take'),
      'configure both by a',
      'use all money',
    ],
  ],
};
