/** Why an actor waits, in sentences, from its committed state and its open approvals. Pure. */
import type { ActorView } from '../protocols/actor-view.ts';
import type { ApprovalRow } from '../protocols/approval.ts';
import { ago, isoTime } from './text.ts';

export type ActorWait = {
  readonly kind: 'status' | 'approval' | 'effect' | 'decision' | 'timer' | 'stash' | 'mailbox';
  /** one sentence for an operator */
  readonly text: string;
};

export type AwaitedApproval = Pick<ApprovalRow, 'id' | 'title' | 'expires_at'>;

type Facts = {
  /** epoch milliseconds */
  readonly now: number;
  /** pending approvals that the actor requested */
  readonly approvals: readonly AwaitedApproval[];
};

/** The most decisive reason first; empty when the actor waits for its next message only. */
export const waitsOf = (view: ActorView, { now, approvals }: Facts): readonly ActorWait[] => [
  ...statusWait(view),
  ...approvals.map(
    ({ id, title, expires_at }): ActorWait => ({
      kind: 'approval',
      text: `it waits for the approval ${id} until ${expires_at}: ${title}`,
    }),
  ),
  ...view.effects.map((effect) => effectWait(effect, now)),
  ...view.timers.map(
    ({ event, due }): ActorWait => ({
      kind: 'timer',
      text: `${event} follows at ${isoTime(due)}, in ${ago(due - now)}`,
    }),
  ),
  ...stashWait(view),
  ...mailboxWait(view),
];

function statusWait({ status, why, supervisor }: ActorView): readonly ActorWait[] {
  const reason = why === undefined ? '' : ` (${why})`;
  const text = {
    suspended: `it failed${reason}, and waits for its supervisor ${supervisor ?? 'default/root/cluster'}`,
    quarantined: `it is quarantined${reason}: its messages become dead letters until it is resumed or restarted`,
    stopped: `it is stopped${reason}: it refuses messages until it is restarted`,
    done: 'it has ended, and takes no more messages',
  }[status];
  return text === undefined ? [] : [{ kind: 'status', text }];
}

function effectWait(
  { effect, state, attempt, since }: ActorView['effects'][number],
  now: number,
): ActorWait {
  const age = ago(now - since);
  if (state === 'unknown')
    return {
      kind: 'decision',
      text: `${effect} may or may not have happened, since ${age}: an operator decides (effects.decide)`,
    };
  const nth = attempt > 1 ? `, attempt ${attempt}` : '';
  return { kind: 'effect', text: `it waits for the effect ${effect}, for ${age}${nth}` };
}

function stashWait({ stash, state, status }: ActorView): readonly ActorWait[] {
  if (stash.length === 0) return [];
  const until =
    status === 'suspended'
      ? 'until it continues'
      : `because its state ${JSON.stringify(state)} defers them`;
  const types = [...new Set(stash.map(({ type }) => type))].slice(0, 3).join(', ');
  return [{ kind: 'stash', text: `${stash.length} messages wait ${until}: ${types}` }];
}

const mailboxWait = ({ shardLag }: ActorView): readonly ActorWait[] =>
  shardLag === 0
    ? []
    : [{ kind: 'mailbox', text: `${shardLag} messages of its shard wait for their turn` }];
