/** Why an actor waits, in sentences, from its committed state and its open approvals. Pure. */
import type { ActorView, ActorWait } from '../protocols/actor-view.ts';
import { parseAddress } from '../protocols/address.ts';
import type { AgentRow } from '../protocols/agent.ts';
import type { ApprovalRow } from '../protocols/approval.ts';
import type { BudgetRow } from '../protocols/budget.ts';
import { ago, isoTime } from './text.ts';

export type AwaitedApproval = Pick<ApprovalRow, 'id' | 'title' | 'expires_at'>;

type Facts = {
  /** epoch milliseconds */
  readonly now: number;
  /** pending approvals that the actor requested */
  readonly approvals: readonly AwaitedApproval[];
  /** the limits of its tenant, if there are any */
  readonly budget?: Pick<BudgetRow, 'spent' | 'day'>;
  /** the agent of a session */
  readonly agent?: Pick<AgentRow, 'agentId' | 'running' | 'waiting'>;
};

/** The most decisive reason first; empty when the actor waits for its next message only. */
export const waitsOf = (view: ActorView, facts: Facts): readonly ActorWait[] => [
  ...statusWait(view),
  ...shardWait(view),
  ...facts.approvals.map(
    ({ id, title, expires_at }): ActorWait => ({
      kind: 'approval',
      text: `it waits for the approval ${id} until ${expires_at}: ${title}`,
      on: { id, title },
    }),
  ),
  ...budgetWait(view, facts),
  ...slotWait(view, facts),
  ...view.effects.map((effect) => effectWait(effect, facts.now)),
  ...view.timers.map(
    ({ event, due }): ActorWait => ({
      kind: 'timer',
      text: `${event} follows at ${isoTime(due)}, in ${ago(due - facts.now)}`,
    }),
  ),
  ...stashWait(view),
  ...mailboxWait(view),
];

function statusWait({ status, why, supervisor }: ActorView): readonly ActorWait[] {
  const reason = why === undefined ? '' : ` (${why})`;
  const text = {
    paused: `it is paused${reason}: its messages wait in order until it is resumed`,
    suspended: `it failed${reason}, and waits for its supervisor ${supervisor ?? 'default/root/cluster'}`,
    quarantined: `it is quarantined${reason}: its messages become dead letters until it is resumed or restarted`,
    stopped: `it is stopped${reason}: it refuses messages until it is restarted`,
    done: 'it has ended, and takes no more messages',
  }[status];
  return text === undefined ? [] : [{ kind: 'status', text }];
}

function shardWait({ shard: { shard, state, why } }: ActorView): readonly ActorWait[] {
  if (state === 'owned') return [];
  const reason = why === undefined ? '' : ` (${why})`;
  const text =
    state === 'unowned'
      ? `no worker owns its shard ${shard}, so nothing is processed: start a worker`
      : `its shard ${shard} is ${state}${reason}, so nothing is processed`;
  return [{ kind: 'shard', text, on: { shard, state } }];
}

const budgetWait = ({ actor }: ActorView, { budget, now }: Facts): readonly ActorWait[] =>
  budget?.spent === undefined ||
  budget.day !== new Date(now).toISOString().slice(0, 10) ||
  !['agent', 'budget', 'session'].includes(parseAddress(actor).type)
    ? []
    : [
        {
          kind: 'budget',
          text: `the budget of its tenant is exhausted (${budget.spent}): no run starts before 00:00 UTC`,
          on: { spent: budget.spent },
        },
      ];

/** Of a session whose agent has not admitted its run yet. */
function slotWait({ state }: ActorView, { agent }: Facts): readonly ActorWait[] {
  if (!agent || !JSON.stringify(state).includes('"admitting"')) return [];
  const { agentId, running, waiting } = agent;
  const text = `it waits for a slot of the agent ${agentId}: ${running} runs have one, ${waiting} wait`;
  return [{ kind: 'slot', text, on: { agent: agentId, running, waiting } }];
}

function effectWait(
  { effect, state, attempt, since, lacks }: ActorView['effects'][number],
  now: number,
): ActorWait {
  const age = ago(now - since);
  if (state === 'unknown')
    return {
      kind: 'decision',
      text: `${effect} may or may not have happened, since ${age}: an operator decides (effects.decide)`,
    };
  if (lacks !== undefined)
    return {
      kind: 'worker',
      text: `${effect} needs a worker with the labels ${lacks}, and none is there, since ${age}`,
      on: { effect, labels: lacks },
    };
  const nth = attempt > 1 ? `, attempt ${attempt}` : '';
  return { kind: 'effect', text: `it waits for the effect ${effect}, for ${age}${nth}` };
}

function stashWait({ stash, state, status }: ActorView): readonly ActorWait[] {
  if (stash.length === 0) return [];
  const until =
    status === 'suspended' || status === 'paused'
      ? 'until it continues'
      : `because its state ${JSON.stringify(state)} defers them`;
  const types = [...new Set(stash.map(({ type }) => type))].slice(0, 3).join(', ');
  return [{ kind: 'stash', text: `${stash.length} messages wait ${until}: ${types}` }];
}

function mailboxWait({ shardLag, shardLagUnknown, shard }: ActorView): readonly ActorWait[] {
  if (!shardLagUnknown)
    return shardLag === 0
      ? []
      : [{ kind: 'mailbox', text: `${shardLag} messages of its shard wait for their turn` }];
  // Otherwise nothing is processed, which `shardWait` says.
  return shard.state === 'owned'
    ? [{ kind: 'mailbox', text: 'it is not known yet how many messages of its shard wait' }]
    : [];
}
