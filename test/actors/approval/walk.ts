/** The events that an approval can receive, and the invariants that hold on every path. */
import { approvalMachine } from '../../../actors/approval/machine.ts';
import { address } from '../../../protocols/address.ts';
import {
  type ApprovalDecision,
  type ApprovalRow,
  approvalAddress,
} from '../../../protocols/approval.ts';
import type { Project, Reply } from '../../../protocols/statechart.ts';
import {
  demand,
  type Exploration,
  type Happened,
  type Move,
  requestsOf,
} from '../../charts/coverage.ts';

const asker = address('default', 'process', 'p1');
const operator = { sub: 'ada', roles: ['operator'] };

/** The first decision, and the callers that still wait for it. */
class Decided {
  row: ApprovalRow | null = null;
  waits = 0;
  decision: ApprovalDecision | undefined;

  copy(): Decided {
    return Object.assign(new Decided(), this);
  }

  take({ cause, meta, step }: Happened): void {
    const event = cause.event;
    for (const { value } of requestsOf<Project>(step.requests, 'project'))
      this.row = value as ApprovalRow;
    const replies = requestsOf<Reply>(step.requests, 'reply').filter(({ to }) => to);
    const isPerson = meta.from === undefined && meta.principal === operator;
    if (event.type === 'approval.answer' && !isPerson && step.outcome !== 'ignored')
      demand(replies, 'only an operator with the role decides').toMatchObject([{ error: {} }]);
    if (event.type === 'approval.ask' || event.type === 'approval.answer')
      demand(replies.filter(({ to }) => to?.id === meta.id).length).toBeLessThanOrEqual(1);
    for (const { result } of replies) {
      const state = (result as ApprovalDecision | undefined)?.state;
      if (state === undefined) continue;
      const { decided_at, decided_by } = result as ApprovalDecision;
      this.decision ??= result as ApprovalDecision;
      demand({ state, decided_at, decided_by }, 'the first decision is final').toMatchObject({
        state: this.decision.state,
        decided_at: this.decision.decided_at,
        decided_by: this.decision.decided_by,
      });
    }
    if (event.type === 'approval.withdraw' && meta.from !== asker)
      demand(
        requestsOf<Project>(step.requests, 'project'),
        'only the requester can withdraw',
      ).toEqual([]);
    if (this.row && this.row.state !== 'asked') demand(this.decision).toBeDefined();
  }
}

const answer = (name: string, decision: string, principal: typeof operator): Move => ({
  name,
  event: { type: 'approval.answer', decision, why: 'because' },
  principal,
});

const moves: Move[] = [
  { name: 'ask', event: { type: 'approval.ask', title: 'May I?' }, from: asker },
  {
    name: 'withdraw',
    event: { type: 'approval.withdraw', why: 'it is over' },
    from: asker,
    tell: true,
  },
  {
    name: "withdraw another's request",
    event: { type: 'approval.withdraw', why: 'no' },
    from: address('default', 'process', 'p2'),
  },
  { name: 'ask for nothing', event: { type: 'approval.ask', title: '' }, from: asker },
  answer('allow', 'allow', operator),
  answer('deny', 'deny', operator),
  answer('mumble', 'perhaps', operator),
  answer('allow by a guest', 'allow', { sub: 'eve', roles: [] }),
  { ...answer('allow by an actor', 'allow', operator), from: asker },
];

export const exploration: Exploration = {
  machine: approvalMachine,
  self: approvalAddress('default', 'a1'),
  moves: () => moves,
  key: (live) => [live.snapshot.value, live.snapshot.status],
  ledger: () => new Decided(),
};
