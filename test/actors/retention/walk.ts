/** The events that a sweeper can receive, and the invariants that hold on every path. */
import { isDeepStrictEqual } from 'node:util';
import { retentionMachine } from '../../../actors/retention/machine.ts';
import type { RetentionContext } from '../../../actors/retention/types.ts';
import type { ErrorData } from '../../../protocols/errors.ts';
import {
  NO_ITEMS,
  retentionAddress,
  type RetentionPlan,
  type RetentionRow,
} from '../../../protocols/retention.ts';
import type { Project, Reply, Tell } from '../../../protocols/statechart.ts';
import {
  demand,
  type Exploration,
  type Happened,
  type Move,
  requestsOf,
} from '../../charts/coverage.ts';

const BUDGET = { itemsPerTurn: 2, itemsPerHour: 3, bytesPerHour: 150 };

/** A receipt for each sweep that ends, with the sum of what its turns removed. */
class Seen {
  row: RetentionRow | undefined;
  removed = 0;

  copy(): Seen {
    return Object.assign(new Seen(), this);
  }

  take({ step }: Happened): void {
    const context = step.live.snapshot.context as RetentionContext;
    for (const { value } of requestsOf<Project>(step.requests, 'project'))
      this.row = value as RetentionRow;
    const { open, hour } = context;
    demand(open?.items.length ?? 0, 'a turn is bounded').toBeLessThanOrEqual(BUDGET.itemsPerTurn);
    demand(hour.items, 'an hour is bounded').toBeLessThanOrEqual(BUDGET.itemsPerHour);
    const isPicking = isDeepStrictEqual(step.live.snapshot.value, { sweeping: 'picking' });
    if (isPicking) demand(hour.bytes!, 'an hour is bounded').toBeLessThan(BUDGET.bytesPerHour);
    const receipts = requestsOf<Tell>(step.requests, 'tell');
    for (const { event } of receipts) {
      const [record] = (event as unknown as { records: { on: Record<string, string> }[] }).records;
      demand(record!.on['transcripts']).toBe(`${this.row!.sweep!.removed.transcripts}`);
      demand(open, 'a receipt at the end').toBeNull();
    }
    const { removed } = context;
    demand(removed.transcripts, 'counts never fall').toBeGreaterThanOrEqual(this.removed);
    this.removed = removed.transcripts;
    for (const { result } of requestsOf<Reply>(step.requests, 'reply'))
      demand(result).toBeDefined();
  }
}

const plan: RetentionPlan = {
  kinds: [{ kind: 'transcripts', before: 1 }],
  budget: BUDGET,
  found: { ...NO_ITEMS, transcripts: 3 },
  held: 0,
};
const error: ErrorData = { code: 'UNAVAILABLE', message: 'away' };

export const exploration: Exploration = {
  machine: retentionMachine,
  self: retentionAddress('default'),
  moves: (): Move[] => [
    { name: 'configure', event: { type: 'retention.configure', everyMs: 86_400_000 } },
    { name: 'configure another', event: { type: 'retention.configure', everyMs: 3_600_000 } },
    { name: 'sweep', event: { type: 'retention.sweep', who: 'ada' } },
    { name: 'planned', job: 'plan', output: plan },
    { name: 'nothing to do', job: 'plan', output: { ...plan, kinds: [], found: NO_ITEMS } },
    { name: 'not planned', job: 'plan', error },
    { name: 'picked', job: 'pick', output: { items: ['a'], held: 0, cursor: 'a', bytes: 100 } },
    {
      name: 'picked the last',
      job: 'pick',
      output: { items: ['b'], held: 1, cursor: null, bytes: 1 },
    },
    {
      name: 'found nothing here',
      job: 'pick',
      output: { items: [], held: 0, cursor: 'c', bytes: 0 },
    },
    { name: 'found nothing', job: 'pick', output: { items: [], held: 0, cursor: null, bytes: 0 } },
    { name: 'not picked', job: 'pick', error },
    { name: 'removed', job: 'remove', output: { skipped: 0 } },
    { name: 'used again', job: 'remove', output: { skipped: 1 } },
    { name: 'not removed', job: 'remove', error },
  ],
  key: ({ snapshot, jobs }) => {
    const { open, hour } = snapshot.context as RetentionContext;
    return [
      snapshot.value,
      snapshot.status,
      Object.keys(jobs),
      open?.attempts,
      open?.kinds.length,
      open?.cursor === null,
      hour.items,
      hour.bytes,
    ];
  },
  ledger: () => new Seen(),
};
