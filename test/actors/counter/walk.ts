/** The events that a counter can receive, and the invariants that hold on every path. */
import { type CounterContext, counterMachine } from '../../../actors/counter/machine.ts';
import { address } from '../../../protocols/address.ts';
import type { Reply } from '../../../protocols/statechart.ts';
import {
  demand,
  type Exploration,
  type Happened,
  type Move,
  requestsOf,
} from '../../charts/coverage.ts';

/** An independent count of the calls. */
class Calls {
  calls = 0;

  copy(): Calls {
    return Object.assign(new Calls(), this);
  }

  take({ cause, step }: Happened): void {
    const replies = requestsOf<Reply>(step.requests, 'reply');
    if (cause.event.type !== 'conformance.count_call') {
      demand(replies).toHaveLength(0);
      return;
    }
    this.calls += 1;
    demand(replies.map(({ result }) => result)).toEqual([{ calls: this.calls }]);
  }
}

const CALLS: Move[] = [
  { name: 'call', event: { type: 'conformance.count_call', task_id: 'a' } },
  { name: 'call of another', event: { type: 'conformance.count_call', task_id: 'b' } },
];

export const exploration: Exploration = {
  machine: counterMachine,
  self: address('default', 'counter', 'c1'),
  moves: ({ snapshot }) => (snapshot.status === 'done' ? [] : CALLS),
  key: ({ snapshot }) => [snapshot.value, Math.min(3, (snapshot.context as CounterContext).calls)],
  ledger: () => new Calls(),
};
