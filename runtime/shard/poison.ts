/**
 * Poison: inputs that killed the process too often end without running (K2): a dead letter, a
 * notice to the sender, and a crash of the actor for its supervisor.
 */
import type { Address } from '../../protocols/address.ts';
import { decode } from '../../protocols/codec.ts';
import type { ErrorData } from '../../protocols/errors.ts';
import { beginTurn, deadLetter, end, type ShardParts, tellSender } from './context.ts';
import { crash } from './crash.ts';
import { TABLE } from './fold.ts';
import type { Group } from './group.ts';
import { parseTimer } from './inputs.ts';
import { decodeIntent } from './intents.ts';
import type { MailInput } from './mail-reader.ts';
import { type Stashed, stashKey } from './stash.ts';

const killed = (tries: number): ErrorData => ({
  code: 'INTERNAL',
  message: `the process died ${tries} times while it handled this input`,
});

export function poisonMail(
  parts: ShardParts,
  group: Group,
  { ref, body }: MailInput,
  tries: number,
): void {
  if (body.kind === 'item') group.accept(`${body.entry.src}/${body.entry.lane}`, body.n);
  if (body.kind === 'outcome') return poisonOutcome(parts, group, body.entry.intent, ref, tries);
  const t = beginTurn(parts, group);
  const item =
    body.kind === 'item' ? body.item : body.kind === 'client' ? body.entry.item : undefined;
  const resident = item && parts.residents.find(item.to);
  const error = killed(tries);
  if (resident) return crash(t, resident, item.event, item, error, ref, true);
  if (item) {
    deadLetter(t, item, 'POISON', error);
    tellSender(t, item, error);
  }
  end(t, { input: ref, actor: item?.to ?? '', machine: '', result: 'poison', why: error.message });
}

/** The intent is closed, or the effect would run again and its outcome kill again. */
function poisonOutcome(
  parts: ShardParts,
  group: Group,
  id: string,
  input: string,
  tries: number,
): void {
  const t = beginTurn(parts, group);
  const bytes = parts.fold.get(TABLE.intent, id);
  const intent = bytes && decodeIntent(bytes);
  const resident = intent && parts.residents.find(intent.actor);
  const error = killed(tries);
  t.draft.put(TABLE.intent, id, null);
  if (resident) {
    const event = { type: 'outcome', effect: intent.src };
    return crash(t, resident, event, undefined, error, input, true);
  }
  end(t, { input, actor: '', machine: '', result: 'poison', why: error.message });
}

export function poisonTimer(parts: ShardParts, group: Group, id: string, tries: number): void {
  const t = beginTurn(parts, group);
  const { actor } = parseTimer(id);
  const resident = parts.residents.find(actor);
  t.draft.put(TABLE.timer, id, null);
  const event = { type: 'timer', id };
  if (resident) return crash(t, resident, event, undefined, killed(tries), `t${id}`, true);
  end(t, { input: `t${id}`, actor, machine: '', result: 'poison', why: killed(tries).message });
}

export function poisonStashed(
  parts: ShardParts,
  group: Group,
  actor: Address,
  tries: number,
): void {
  const resident = parts.residents.find(actor);
  if (!resident) return;
  const n = resident.actor.stashFirst;
  const key = stashKey(actor, n);
  const bytes = parts.fold.get(TABLE.stash, key);
  const stashed = bytes && decode<Stashed>(bytes);
  const t = beginTurn(parts, group);
  t.draft.put(TABLE.stash, key, null);
  resident.actor = { ...resident.actor, stashFirst: n + 1 };
  const item = stashed?.kind === 'message' ? stashed.item : undefined;
  const event = item?.event ?? (stashed?.kind === 'cause' ? stashed.event : { type: 'stashed' });
  crash(t, resident, event, item, killed(tries), `s${key}`, true);
}
