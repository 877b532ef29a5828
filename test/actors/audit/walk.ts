/** The events that a day of the audit can receive, and the invariants that hold on every path. */
import { auditMachine } from '../../../actors/audit/machine.ts';
import type { AuditContext } from '../../../actors/audit/day.ts';
import { address } from '../../../protocols/address.ts';
import type { AuditRecord } from '../../../protocols/audit.ts';
import type { Append, Project, Reply } from '../../../protocols/statechart.ts';
import {
  demand,
  type Exploration,
  type Happened,
  type Move,
  requestsOf,
} from '../../charts/coverage.ts';

export const record = (more: Partial<AuditRecord> = {}): AuditRecord => ({
  at: 1,
  who: 'operator',
  by: 'token',
  action: 'sessions.delete',
  outcome: 'done',
  ...more,
});

/** An independent record of the accepted notes. */
class Day {
  noted: AuditRecord[] = [];

  copy(): Day {
    return Object.assign(new Day(), { noted: [...this.noted] });
  }

  take({ cause, step }: Happened): void {
    if (cause.event.type !== 'audit.note') return;
    const { records } = cause.event as unknown as { records: AuditRecord[] };
    const [reply] = requestsOf<Reply>(step.requests, 'reply');
    const kept = requestsOf<Append>(step.requests, 'append').flatMap(({ entries }) => entries);
    if (reply?.error !== undefined) {
      demand(reply.error.code).toBe('INVALID_ARGUMENT');
      demand(kept).toEqual([]);
      return;
    }
    this.noted.push(...records);
    demand(kept).toEqual(records.map((one) => ({ type: 'audit.record', ...one })));
    demand(reply?.result).toEqual({ noted: records.length });
    const [row] = requestsOf<Project>(step.requests, 'project');
    demand((row?.value as AuditContext | undefined)?.records).toBe(this.noted.length);
  }
}

const note = (name: string, records: unknown): Move => ({
  name,
  event: { type: 'audit.note', records },
});
const MOVES: Move[] = [
  note('one', [record()]),
  note('two', [record({ outcome: 'begun' }), record({ at: 2, on: { key: 'agent:main:main' } })]),
  note('one of them is none', [record(), { who: 'x' }]),
  note('none', []),
];

export const exploration: Exploration = {
  machine: auditMachine,
  self: address('default', 'audit', '2026-05-04'),
  moves: () => MOVES,
  key: ({ snapshot }) => [Math.min(4, (snapshot.context as AuditContext).records)],
  ledger: () => new Day(),
};
