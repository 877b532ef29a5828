/** The events that a sequence can receive, and the invariants that hold on every path. */
import { sequenceMachine, type SequenceContext } from '../../../actors/sequence/machine.ts';
import { address } from '../../../protocols/address.ts';
import type { ReplyRef, Tell } from '../../../protocols/statechart.ts';
import { taskAddress, type SequencePass, type TaskSubmit } from '../../../protocols/task.ts';
import type { Live } from '../../../runtime/statechart/host.ts';
import {
  demand,
  type Exploration,
  type Happened,
  type Ledger,
  requestsOf,
} from '../../charts/coverage.ts';
import { submitOf } from '../task/submits.ts';

const self = address('t', 'sequence', 's');
const to = taskAddress('t', '1');
const contextOf = (live: Live) => live.snapshot.context as SequenceContext;

/** The number never decreases, and each submit is forwarded once, with its caller. */
class Numbers implements Ledger {
  highest: number;

  constructor(from?: Numbers) {
    this.highest = from?.highest ?? 0;
  }

  copy(): Ledger {
    return new Numbers(this);
  }

  take({ cause, meta, step: { requests, live } }: Happened): void {
    const tells = requestsOf<Tell>(requests, 'tell');
    if (cause.event.type !== 'sequence.pass') return demand(tells).toEqual([]);
    const { seq } = cause.event as unknown as SequencePass;
    const [{ to: task, event } = {}] = tells;
    demand(task).toBe(to);
    demand(tells).toHaveLength(1);
    const { replyTo, stale } = event as TaskSubmit & { replyTo?: ReplyRef };
    demand(replyTo?.id).toBe(meta.reply?.id);
    demand(stale).toBe(seq > this.highest ? undefined : this.highest);
    this.highest = Math.max(this.highest, seq);
    demand(contextOf(live).last).toBe(this.highest);
  }
}

const pass = (seq: number): SequencePass => ({
  type: 'sequence.pass',
  seq,
  to,
  submit: submitOf(),
});

export const exploration: Exploration = {
  machine: sequenceMachine,
  self,
  ledger: () => new Numbers(),
  moves: (live) => {
    if (live.snapshot.status === 'done') return [];
    const { last } = contextOf(live);
    return [
      { name: 'the next', event: pass(last + 1) },
      { name: 'one far ahead', event: pass(last + 10) },
      { name: 'the last again', event: pass(last) },
      { name: 'the next without reply', event: pass(last + 1), tell: true },
    ];
  },
  key: (live) => {
    const { last, usedAt } = contextOf(live);
    const due = Object.values(live.timers)[0]?.due ?? 0;
    return [live.snapshot.value, Math.min(last, 20), due - usedAt > 28 * 3_600_000 - 5];
  },
};
