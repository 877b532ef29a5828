/** The events that a legal hold can receive, and the invariants that hold on every path. */
import { legalHoldMachine } from '../../../actors/legal-hold/machine.ts';
import { legalHoldAddress, type LegalHoldRow } from '../../../protocols/erasure.ts';
import type { Project, Reply } from '../../../protocols/statechart.ts';
import { demand, type Exploration, type Happened, requestsOf } from '../../charts/coverage.ts';

/** The row is there exactly while the data is held. */
class Seen {
  row: LegalHoldRow | null = null;

  copy(): Seen {
    return Object.assign(new Seen(), this);
  }

  take({ step }: Happened): void {
    for (const { value } of requestsOf<Project>(step.requests, 'project'))
      this.row = value as LegalHoldRow | null;
    const isHeld = step.live.snapshot.value === 'held';
    demand(this.row !== null, 'a row while it is held').toBe(isHeld);
    for (const { error } of requestsOf<Reply>(step.requests, 'reply'))
      if (error) demand(isHeld).toBe(false);
  }
}

export const exploration: Exploration = {
  machine: legalHoldMachine,
  self: legalHoldAddress({ tenant: 'default', kind: 'user', id: 'ada' }),
  moves: () => [
    {
      name: 'set',
      event: { type: 'hold.set', kind: 'user', id: 'ada', why: 'a case', who: 'bob' },
    },
    { name: 'release', event: { type: 'hold.release' } },
  ],
  key: ({ snapshot }) => [snapshot.value, snapshot.status],
  ledger: () => new Seen(),
};
