/**
 * Mail: the verdict on each mailbox entry (B2). Deduplication is here: link items by number (E1),
 * client messages by key (F3). See outcomes.ts for outcomes and due-timers.ts for timers.
 */
import { deadLetter, outId, refuse, reply, type TurnContext } from '../turn/turn-context.ts';
import type { Group, Verdict } from '../commit/group.ts';
import type { InputHandlers } from './input-handlers.ts';
import type { MailBody, MailInput } from './mail-reader.ts';
import { onOutcome } from './outcomes.ts';
import type { MailEntry, OutItem } from '../commit/records.ts';

type ClientEntry = Extract<MailEntry, { kind: 'client' }>;

/**
 * Whether the item has the next number of its link, which then is accepted (E1). Any other is a
 * duplicate, or will be sent again: it needs no turn.
 */
export function acceptLinkItem(
  group: Group,
  { entry, n }: Extract<MailBody, { kind: 'item' }>,
): boolean {
  const link = `${entry.src}/${entry.lane}`;
  if (n !== group.accepted(link) + 1) return false;
  group.accept(link, n);
  return true;
}

export function onMail(
  t: TurnContext,
  { body, logTimeMs, position }: MailInput,
  by: InputHandlers,
): Verdict {
  switch (body.kind) {
    case 'item':
      t.source = { kind: 'message', item: body.item };
      return by.message(t, body.item);
    case 'client':
      return onClientEntry(t, body.entry, body.entry.acceptedAt ?? logTimeMs, by);
    case 'outcome':
      return onOutcome(t, body.entry, by);
    case 'unreadable':
      return onUnreadable(t, position, body.why);
  }
}

function onClientEntry(
  t: TurnContext,
  entry: ClientEntry,
  logTimeMs: number,
  by: InputHandlers,
): Verdict {
  const { group } = t;
  group.keyNow = Math.max(group.keyNow, logTimeMs);
  const item: OutItem = { ...entry.item, deadline: logTimeMs + group.stampLagMs + entry.ttlMs };
  t.source = { kind: 'message', item };
  if (entry.key === undefined) return by.message(t, item);
  const { keys } = t.residents;
  const rowKey = keys.rowKey(item.to, item.event.type, entry.key);
  const known = keys.look(rowKey, entry.payloadHash);
  if (known.kind === 'new') {
    const refusal = refuseKey(t, item, entry, logTimeMs);
    if (refusal) return refusal;
    keys.remember(t, rowKey, entry.payloadHash);
    const keyed = { ...item, reply: { id: item.id, ...item.reply, key: rowKey } };
    t.source = { kind: 'message', item: keyed };
    return by.message(t, keyed);
  }
  if (known.kind === 'conflict')
    return refuse(t, item, {
      result: 'refused',
      code: 'CONFLICT',
      message: `the idempotency key '${entry.key}' was used with another payload for ${item.event.type} to ${item.to}`,
    });
  if (known.kind === 'done' && item.reply) reply(t, item.to, item.reply, known.answer);
  if (known.kind === 'pending' && item.reply?.inbox) {
    const { inbox, id } = item.reply;
    t.draft.after.push({ kind: 'wait', inbox, id, keyRow: rowKey });
  }
  return { actor: item.to, machine: '', result: 'duplicate' };
}

/** The refusal of a message whose new key cannot be stored; undefined if it can. */
function refuseKey(
  t: TurnContext,
  item: OutItem,
  { notAfter }: ClientEntry,
  logTimeMs: number,
): Verdict | undefined {
  const { keyCount } = t.fold.scalars;
  if (logTimeMs > notAfter)
    return refuse(t, item, {
      result: 'expired',
      code: 'UNAVAILABLE',
      message:
        'this copy of the message arrived too late to tell whether it is a repeat; send it again',
    });
  if (keyCount >= t.world.limits.keysMax)
    return refuse(t, item, {
      result: 'refused',
      code: 'RATE_LIMIT_EXCEEDED',
      message: `shard ${t.world.shard} remembers ${keyCount} idempotency keys, which is its limit; send without a key or later`,
    });
  return undefined;
}

/** An entry that does not parse is a dead letter with its position (E5). */
function onUnreadable(t: TurnContext, position: number, why: string): Verdict {
  const nowhere = {
    to: `unreadable/mail/${position}` as OutItem['to'],
    id: outId(t),
    event: { type: 'unreadable' },
    hops: 0,
  };
  deadLetter(t, nowhere, 'UNREADABLE', { code: 'INVALID_ARGUMENT', message: why });
  return { actor: '', machine: '', result: 'dropped', why };
}
