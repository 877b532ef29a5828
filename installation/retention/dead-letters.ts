/**
 * Dead letters: of the tenant's actors. The age of a resolved one counts since it was resolved.
 * Open ones are removed only if the configuration has an age. One whose redrive may still be
 * repeated stays. An item is `DOMAIN ID`.
 */
import type { AgedLetter } from '../../runtime/index.ts';
import { parseAddress } from '../../protocols/address.ts';
import { type KindParts, type KindSweep, Picking } from './kind.ts';
import { removesOpenLetters } from './rules.ts';

export const deadLetters: KindSweep = {
  async pick(parts, input) {
    const { system, config, signal } = parts;
    const { tenant, before, cursor } = input;
    const picking = new Picking(input);
    const seen = new Set<string>();
    const isOpenToo = removesOpenLetters(config, tenant);
    for await (const letter of system.retaining.letters(tenant, placeOf(cursor))) {
      signal.throwIfAborted();
      const { domain, position, id } = letter;
      const item = `${domain} ${id}`;
      if (!seen.has(item) && isDue(letter, before, isOpenToo))
        await picking.add(item, await isHeld(parts, tenant, letter), () => letter.bytes);
      seen.add(item);
      if (picking.isFull) return picking.picked(`${domain} ${position + 1}`);
    }
    return picking.picked(null);
  },
  async remove(parts, { tenant, before }, items) {
    const { system, config } = parts;
    const wanted = new Set(items);
    const kept = new Set<string>();
    const isOpenToo = removesOpenLetters(config, tenant);
    for await (const letter of system.retaining.letters(tenant)) {
      const item = `${letter.domain} ${letter.id}`;
      if (!wanted.has(item)) continue;
      if (!isDue(letter, before, isOpenToo) || (await isHeld(parts, tenant, letter)))
        kept.add(item);
    }
    const byDomain = new Map<string, Set<string>>();
    for (const item of items) {
      if (kept.has(item)) continue;
      const at = item.indexOf(' ');
      const ids = byDomain.get(item.slice(0, at)) ?? new Set();
      byDomain.set(item.slice(0, at), ids.add(item.slice(at + 1)));
    }
    for (const [domain, ids] of byDomain) await system.retaining.removeLetters(domain, ids);
    return kept.size;
  },
};

function placeOf(cursor: string | null) {
  if (cursor === null) return undefined;
  const [domain = '', position] = cursor.split(' ');
  return { domain, position: Number(position) };
}

const isDue = (
  { at, resolvedAt, isSending }: AgedLetter,
  before: number,
  isOpenToo: boolean,
): boolean =>
  !isSending && (resolvedAt === undefined ? isOpenToo && at < before : resolvedAt < before);

/** To or from a held session, or names something that is held. */
async function isHeld({ holds }: KindParts, tenant: string, letter: AgedLetter): Promise<boolean> {
  if (holds.rows(tenant).length === 0) return false;
  const { to, from, event } = letter;
  for (const each of [to, from]) {
    if (each === undefined) continue;
    const { type, key } = parseAddress(each);
    if (type === 'session' && (await holds.isSessionHeld(tenant, key))) return true;
  }
  return holds.isNamedIn(tenant, [to, from, event]);
}
