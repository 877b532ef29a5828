/**
 * Erasing an actor: its row and everything that is stored because of it in its shard, in one turn.
 * Running effects are aborted, and an outcome that arrives later has no intent, so it changes
 * nothing.
 */
import { parseAddress } from '../../../protocols/address.ts';
import type { SysErase } from '../../../protocols/supervision.ts';
import { checkAddress } from '../../state/row.ts';
import type { Verdict } from '../commit/group.ts';
import { TABLE } from '../commit/fold.ts';
import type { OutItem } from '../commit/records.ts';
import { dropPending } from './requests.ts';
import { stashKey, waitingOf } from './stash.ts';
import { type ActivatedActor, reply, type TurnContext, verdict } from './turn-context.ts';

/** Rows of one message: more make a turn too large. */
export const ERASED_ROWS_MAX = 1_000;

export function eraseActor(t: TurnContext, resident: ActivatedActor, item: OutItem): Verdict {
  const { address } = resident;
  dropPending(t, resident);
  for (const { n } of waitingOf(t.fold, resident))
    t.draft.put(TABLE.stash, stashKey(address, n), null);
  for (const { key } of t.fold.committed(TABLE.key, { ...keysOf(address), limit: KEYS_MAX }))
    t.draft.put(TABLE.key, key, null);
  const { tenant } = parseAddress(address);
  const { rows = [], expiries = [] } = item.event as unknown as SysErase;
  for (const key of expiries.slice(0, ERASED_ROWS_MAX)) t.draft.put(TABLE.expiry, key, null);
  for (const { index, key } of rows.slice(0, ERASED_ROWS_MAX)) {
    const row = [`ix:${index}`, `${tenant}|${key}`] as const;
    checkAddress(t.world.shard, ...row);
    t.draft.put(...row, null);
  }
  t.residents.forget(t, resident);
  if (item.reply) reply(t, item.to, item.reply, { result: { status: 'erased' } });
  return verdict(resident, 'applied', item.event.type);
}

const KEYS_MAX = 10_000;

/** The rows of all idempotency keys of an actor; see `Keys.rowKey`. */
const keysOf = (actor: string) => ({ from: `${actor}\0`, to: `${actor}\u0001` });
