/**
 * Audit: whole days, so that a day that stays is complete. A day that names something that is held
 * stays. An item is the day.
 */
import { address } from '../../protocols/address.ts';
import { auditAddress, type AuditDayRow, AUDITS_INDEX } from '../../protocols/audit.ts';
import { entriesOf } from '../erasure/find.ts';
import { type KindParts, type KindSweep, Picking, removeEach } from './kind.ts';

const LIST_MAX = 100_000;

export const audit: KindSweep = {
  async pick(parts, input) {
    const { system, signal } = parts;
    const { tenant, before, cursor } = input;
    const picking = new Picking(input);
    const days = system.index.list<AuditDayRow>(AUDITS_INDEX, tenant, {
      limit: LIST_MAX,
      ...(cursor !== null && { after: cursor }),
    });
    for (const { key: day } of days) {
      signal.throwIfAborted();
      if (isOver(day, before))
        await picking.add(day, await isHeld(parts, tenant, day), () =>
          system.retaining.transcriptBytes(auditAddress(tenant, day)),
        );
      if (picking.isFull) return picking.picked(day);
    }
    return picking.picked(null);
  },
  remove: (parts, { tenant }, days) =>
    removeEach(days, parts.signal, async (day) => {
      if (await isHeld(parts, tenant, day)) return false;
      const actor = auditAddress(tenant, day);
      await parts.system.erasing.eraseTranscript(actor);
      // Its row is removed last: a sweep that was killed finds the day again.
      await parts.system.erasing.eraseActor(actor, [{ index: AUDITS_INDEX, key: day }]);
      return true;
    }),
};

const DAY_MS = 86_400_000;
const isOver = (day: string, before: number): boolean => Date.parse(day) + DAY_MS <= before;

async function isHeld({ system, holds }: KindParts, tenant: string, day: string): Promise<boolean> {
  if (holds.rows(tenant).length === 0) return false;
  for await (const record of entriesOf(system, address(tenant, 'audit', day)))
    if (await holds.isNamedIn(tenant, record)) return true;
  return false;
}
