/** Actors: the committed state of each actor, without activating it, and their turns. */
import { Type } from '@sinclair/typebox';
import type { ActorSummary, ActorView, ActorWait } from '../protocols/actor-view.ts';
import { activeLeaves } from '../charts/chart.ts';
import { parseAddress } from '../protocols/address.ts';
import type { AgentRow } from '../protocols/agent.ts';
import { BUDGET_KEY, type BudgetRow, BUDGETS_INDEX } from '../protocols/budget.ts';
import { defined } from '../protocols/defined.ts';
import { TroupeError } from '../protocols/errors.ts';
import { plainText } from '../protocols/plain-text.ts';
import { type ApprovalRow, APPROVALS_INDEX } from '../protocols/approval.ts';
import type { ForkPoint } from '../protocols/session-fork.ts';
import type { SessionRow } from '../protocols/session.ts';
import { history, recording, turn } from './actor-history.ts';
import { actorOf } from './actor-of.ts';
import { actorOrders } from './actor-orders.ts';
import { type AwaitedApproval, waitsOf } from './actor-waits.ts';
import { masked } from './masked.ts';
import { defineOperation, ObjectOf, type OperationContext, type Resource } from './operation.ts';
import { ago, table } from './text.ts';

const LISTED_MAX = 1_000;

export const listActors = defineOperation({
  name: 'actors.list',
  scope: 'tenant',
  summary: 'List actors with their states, by address',
  params: Type.Object({
    type: Type.Optional(
      Type.String({
        pattern: '^[a-z0-9][a-z0-9_-]{0,62}$',
        description: 'Only actors of this type',
      }),
    ),
    after: Type.Optional(Type.String({ description: 'Only actors after this address' })),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LISTED_MAX,
        description: `Maximum number; default ${LISTED_MAX}`,
      }),
    ),
  }),
  result: Type.Object({ actors: Type.Array(ObjectOf<ActorSummary>()) }),
  errors: ['INVALID_ARGUMENT'],
  http: {
    method: 'GET',
    path: '/v1/actors',
    operationId: 'listActors',
    responses: { 200: 'The actors, in the order of their addresses' },
  },
  cli: {
    command: 'actors list',
    examples: ['troupe actors list', 'troupe actors list --type session'],
    print: ({ actors }) => listText(actors),
  },
  async run({ system, tenant }, options) {
    if (options.after !== undefined) actorOf(tenant, options.after);
    return { actors: [...(await system.actors.list(tenant, options))] };
  },
});

const listText = (actors: readonly ActorSummary[]): string =>
  actors.length === 0
    ? 'there are no actors\n'
    : table(
        ['actor', 'status', 'state', 'effects', 'timers', 'stash', 'lag'],
        actors.map(({ actor, status, state, effects, timers, stashed, ...lag }) => [
          actor,
          status,
          activeLeaves(state).join(', '),
          String(effects),
          String(timers),
          String(stashed),
          lag.shardLagUnknown ? 'unknown' : String(lag.shardLag),
        ]),
      );

type ShownActor = ActorView & {
  /** why it waits; empty when it waits for its next message only */
  readonly waits: readonly ActorWait[];
  /** of a session that is a fork */
  readonly forkedFrom?: ForkPoint;
};

const show = defineOperation({
  name: 'actors.show',
  scope: 'tenant',
  summary: 'Show the state of an actor: what it accepts, runs, and waits for',
  params: Type.Object({
    actor: Type.String({ description: 'Address: tenant/type/key' }),
    context: Type.Optional(
      Type.Boolean({ description: 'With the context of its machine; known secrets are masked' }),
    ),
  }),
  result: ObjectOf<ShownActor>(),
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND'],
  http: {
    method: 'GET',
    path: '/v1/actors/{actor}',
    operationId: 'getActor',
    responses: { 200: 'The actor' },
  },
  cli: {
    command: 'actors show',
    args: ['actor'],
    flags: { context: '--context' },
    examples: [
      'troupe actors show default/session/agent:main:main',
      'troupe actors show default/root/cluster --context --json',
    ],
    print: (view) => viewText(view, Date.now()),
  },
  async run({ system, tenant, maskSecrets, now }, { actor, context = false }) {
    const found = await system.actors.get(actorOf(tenant, actor), { context });
    if (!found) throw new TroupeError('NOT_FOUND', `actor ${actor} does not exist`);
    const approvals = await pendingApprovals(system, tenant, actor);
    const facts = { now: now(), approvals, ...limitsOf(system, tenant, found.actor) };
    const forkedFrom = forkedFromOf(system, actor);
    const view = { ...found, waits: waitsOf(found, facts), ...defined({ forkedFrom }) };
    return masked(view, maskSecrets);
  },
});

/** What may keep the runs of a session from starting. */
function limitsOf(
  { index }: Pick<OperationContext['system'], 'index'>,
  tenant: string,
  of: string,
) {
  const budget = index.get<BudgetRow>(BUDGETS_INDEX, tenant, BUDGET_KEY);
  const [, agentId] = /^[^/]+\/session\/agent:([^:]+):/.exec(of) ?? [];
  const agent = agentId === undefined ? undefined : index.get<AgentRow>('agents', tenant, agentId);
  return defined({ budget, agent });
}

function forkedFromOf(
  { index }: Pick<OperationContext['system'], 'index'>,
  actor: string,
): ForkPoint | undefined {
  const { tenant, type, key } = parseAddress(actor);
  if (type !== 'session') return undefined;
  return index.get<SessionRow>('sessions', tenant, key)?.forkedFrom;
}

async function pendingApprovals(
  { index }: Pick<OperationContext['system'], 'index'>,
  tenant: string,
  actor: string,
): Promise<readonly AwaitedApproval[]> {
  const found: AwaitedApproval[] = [];
  const fields = ['id', 'by', 'state', 'title', 'expires_at'] as const;
  await index.scan<ApprovalRow, (typeof fields)[number]>(
    APPROVALS_INDEX,
    tenant,
    { fields },
    (row) => {
      if (row.by === actor && row.state === 'asked') found.push(row);
    },
  );
  return found.toSorted((a, b) => (a.expires_at < b.expires_at ? -1 : 1));
}

function viewText(view: ShownActor, now: number): string {
  const { actor, machine, status, why, supervisor, state, accepts, context, forkedFrom } = view;
  const rows: (readonly [string, string])[] = [
    ['actor', actor],
    ['machine', machine],
    ['status', why === undefined ? status : `${status}: ${why}`],
    ['state', JSON.stringify(state)],
    ['accepts', accepts.join(', ')],
    ...view.effects.map(
      ({ id, effect, state: is, attempt, since }) =>
        ['effect', `${effect}: ${is}, attempt ${attempt}, for ${ago(now - since)}, ${id}`] as const,
    ),
    ...view.timers.map(
      ({ event, due }) => ['timer', `${event} at ${new Date(due).toISOString()}`] as const,
    ),
    ...view.stash.map(
      ({ type, from }) => ['stash', `${type}${from === undefined ? '' : ` from ${from}`}`] as const,
    ),
    ...view.waits.map(({ text }) => ['waits', text] as const),
    ['supervisor', supervisor ?? ''],
    ['forked', forkedFrom ? `from ${forkedFrom.key} at turn ${forkedFrom.turn}` : ''],
    ['shard lag', lagText(view)],
    ['context', context === undefined ? '' : JSON.stringify(context)],
  ];
  return rows
    .filter(([, text]) => text !== '')
    .map(([name, text]) => `${name.padEnd(10)}  ${plainText(text)}\n`)
    .join('');
}

const lagText = ({ shardLag, shardLagUnknown }: ShownActor): string => {
  if (shardLagUnknown) return 'unknown';
  return shardLag === 0 ? '' : `${shardLag} messages`;
};

export const actors: Resource = {
  name: 'actors',
  operations: [listActors, show, history, turn, recording, ...actorOrders],
};
