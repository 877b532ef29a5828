/**
 * History: turns with bodies, by actor, and summaries of all actors of a shard. Summaries belong to
 * no tenant: the sweeper of the default tenant removes them, after the longest age of all tenants,
 * and not while anything is held.
 *
 * An item is `turns POSITION ACTOR` or `segment POSITION SHARD`.
 */
import { type Address, DEFAULT_TENANT, parseAddress } from '../../protocols/address.ts';
import type { AgedSegment } from '../../runtime/index.ts';
import { type KindParts, type KindSweep, Picking, type Place, removeEach } from './kind.ts';
import { ageMs, ageOf, summariesBefore, tenantsOf } from './rules.ts';

export const history: KindSweep = {
  async pick(parts, input) {
    const { tenant, before, cursor } = input;
    const picking = new Picking(input);
    const from = placeOf(cursor);
    for await (const segment of parts.system.retaining.segments(from)) {
      parts.signal.throwIfAborted();
      const { shard, position } = segment;
      const isFirst = shard === from?.shard && position === from.position + 1;
      let n = 0;
      for await (const { item, isHeld, bytes } of itemsOf(parts, { tenant, before }, segment)) {
        if (n++ < (isFirst ? from.looked : 0)) continue;
        if (item !== undefined) await picking.add(item, isHeld, () => bytes);
        if (picking.isFull) return picking.picked(`${shard} ${position} ${n}`);
      }
    }
    return picking.picked(null);
  },
  remove: (parts, { tenant }, items) =>
    removeEach(items, parts.signal, (item) => removeItem(parts, tenant, item)),
};

type Candidate = { readonly item?: string; readonly isHeld: boolean; readonly bytes: number };
const NOTHING: Candidate = { isHeld: false, bytes: 0 };

/** One for each actor that the segment names, and one for the summaries: always as many. */
async function* itemsOf(
  parts: KindParts,
  { tenant, before }: Place,
  segment: AgedSegment,
): AsyncGenerator<Candidate> {
  const { system, holds } = parts;
  const { shard, position: at, lastAt, full } = segment;
  for (const [name, position] of full) {
    const actor = name as Address;
    const { tenant: owner, type, key } = parseAddress(actor);
    const isDue = lastAt < before && owner === tenant;
    const bytes = isDue ? await system.retaining.turnBytes(actor, position) : 0;
    if (bytes === 0) yield NOTHING;
    else {
      const isHeld =
        type === 'session' ? await holds.isSessionHeld(tenant, key) : holds.isTenantHeld(tenant);
      yield { item: `turns ${position} ${actor}`, isHeld, bytes };
    }
  }
  if (isDueSummary(parts, tenant, segment, before))
    yield { item: `segment ${at} ${shard}`, isHeld: isAnythingHeld(parts), bytes: segment.bytes };
}

function isDueSummary(
  { config }: KindParts,
  tenant: string,
  { lastAt, isLast }: AgedSegment,
  before: number,
): boolean {
  if (tenant !== DEFAULT_TENANT || isLast) return false;
  // `before` is that of the default tenant: the others follow from the difference of the ages.
  const now = before + ageMs(ageOf(config, tenant, 'history'));
  const due = summariesBefore(config, now);
  return due !== undefined && lastAt < due;
}

const isAnythingHeld = ({ config, holds }: KindParts): boolean =>
  tenantsOf(config).some((tenant) => holds.rows(tenant).length > 0);

async function removeItem(parts: KindParts, tenant: string, item: string): Promise<boolean> {
  const { system, holds } = parts;
  const [, what, position, name = ''] = /^(turns|segment) (\d+) (.*)$/s.exec(item) ?? [];
  if (what === 'segment') {
    if (isAnythingHeld(parts)) return false;
    await system.retaining.removeSegments(Number(name), Number(position));
    return true;
  }
  const { type, key } = parseAddress(name);
  if (holds.isTenantHeld(tenant)) return false;
  if (type === 'session' && (await holds.isSessionHeld(tenant, key))) return false;
  await system.retaining.removeTurns(name as Address, Number(position));
  return true;
}

/** `looked`: candidates of the segment behind the place that were looked at. */
function placeOf(cursor: string | null) {
  if (cursor === null) return undefined;
  const [shard, position, looked] = cursor.split(' ').map(Number);
  return { shard: shard!, position: position! - 1, looked: looked! };
}
