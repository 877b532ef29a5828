/**
 * Alongside: what an atomic log stores as one unit with the journal record: one mailbox entry per
 * target shard and lane. The commit settles rule D.
 */
import type { Lane } from '../../../protocols/statechart.ts';
import { mailboxSubject } from '../../../protocols/subjects.ts';
import type { AtomicAppends } from '../../log/log.ts';
import { encodeKept, encodeMail, type JournalRecord, type OutItem } from './records.ts';
import { keptSubject } from './relay.ts';

type Batch = {
  readonly target: number;
  readonly lane: Lane;
  readonly n: number;
  readonly items: OutItem[];
};

export function alongsideOf(
  record: JournalRecord,
  { env, shard, format }: { env: string; shard: number; format: number },
): AtomicAppends {
  if (record.t !== 'TURNS') return { entries: [] };
  const entries: { subject: string; bytes: Uint8Array }[] = [];
  const batches = new Map<string, Batch>();
  for (const { out } of record.turns) {
    for (const [target, lane, n, item] of out) {
      if (typeof target !== 'number') {
        entries.push({ subject: keptSubject(env, target, item), bytes: encodeKept(item, format) });
        continue;
      }
      const link = `${target}/${lane}`;
      const batch = batches.get(link);
      if (batch) batch.items.push(item);
      else batches.set(link, { target, lane, n, items: [item] });
    }
  }
  for (const { target, lane, n, items } of batches.values()) {
    const entry = { kind: 'links' as const, cell: record.cell, src: shard, lane, n, items };
    entries.push({ subject: mailboxSubject(env, target, lane), bytes: encodeMail(entry, format) });
  }
  return { entries };
}
