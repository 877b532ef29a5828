/**
 * Transcripts: a session that was not active since is closed, and its transcript removed. Of
 * other sessions, conversations before a reset that is as old are removed: no model reads them.
 *
 * An item is `session KEY` or `before POSITION KEY`.
 */
import { address } from '../../protocols/address.ts';
import { errorData } from '../../protocols/errors.ts';
import { SYSTEM_PRINCIPAL } from '../../protocols/security/principals.ts';
import type { SessionExpire } from '../../protocols/retention.ts';
import type { SessionRow } from '../../protocols/session.ts';
import { askOrThrow, type System } from '../../runtime/index.ts';
import { sessionsOf } from './holds.ts';
import { type KindParts, type KindSweep, Picking, type Place, removeEach } from './kind.ts';

const ASK_MS = 60_000;
const PAGE = 500;

export const transcripts: KindSweep = {
  async pick({ system, holds, signal }, input) {
    const { tenant, before, cursor } = input;
    const picking = new Picking(input);
    for (const key of await sessionsOf(system, tenant)) {
      if (cursor !== null && key <= cursor) continue;
      signal.throwIfAborted();
      const item = await itemOf(system, { tenant, before }, key);
      if (item !== undefined)
        await picking.add(item, await holds.isSessionHeld(tenant, key), () => {
          const { upTo } = partsOf(item);
          return system.retaining.transcriptBytes(address(tenant, 'session', key), upTo);
        });
      if (picking.isFull) return picking.picked(key);
    }
    return picking.picked(null);
  },
  remove: (parts, place, items) =>
    removeEach(items, parts.signal, (item) => removeItem(parts, place, item)),
};

async function itemOf(
  system: Pick<System, 'index' | 'transcripts'>,
  { tenant, before }: Place,
  key: string,
): Promise<string | undefined> {
  const row = system.index.get<SessionRow>('sessions', tenant, key);
  const actor = address(tenant, 'session', key);
  if (row !== undefined) {
    const { status, pending, updatedAt } = row;
    if (status === 'idle' && pending === 0 && updatedAt < before) return `session ${key}`;
    const at = await resetBefore(system, { tenant, before }, key);
    return at > 0 ? `before ${at} ${key}` : undefined;
  }
  const last = await system.transcripts.last(actor);
  const [entry] = last === 0 ? [] : await system.transcripts.read(actor, { from: last, limit: 1 });
  // Without an entry it is removed already.
  return entry !== undefined && entry.at < before ? `session ${key}` : undefined;
}

/** Position of the last entry before the last reset that is old enough; 0 without any. */
async function resetBefore(
  { transcripts: read }: Pick<System, 'transcripts'>,
  { tenant, before }: Place,
  key: string,
): Promise<number> {
  const actor = address(tenant, 'session', key);
  let first = 0;
  let upTo = 0;
  for (let from = 1; ; ) {
    const page = await read.read(actor, { from, limit: first === 0 ? 1 : PAGE });
    for (const { position, at, entry } of page) {
      if (at >= before) return upTo;
      first ||= position;
      if (entry.type === 'reset' && position > first) upTo = position - 1;
    }
    if (page.length === 0) return upTo;
    from = page.at(-1)!.position + 1;
  }
}

/** `upTo`: position of its last entry; undefined: all of the transcript. */
function partsOf(item: string): { readonly upTo: number | undefined; readonly key: string } {
  const [, upTo, key = ''] = /^(?:session|before (\d+)) (.*)$/s.exec(item) ?? [];
  return { upTo: upTo === undefined ? undefined : Number(upTo), key };
}

async function removeItem(
  { system, holds }: KindParts,
  { tenant, before }: Place,
  item: string,
): Promise<boolean> {
  const { upTo, key } = partsOf(item);
  if (await holds.isSessionHeld(tenant, key)) return false;
  const actor = address(tenant, 'session', key);
  if (upTo !== undefined) {
    await system.retaining.trimTranscript(actor, upTo);
    return true;
  }
  // A message would create a session that is gone.
  if (system.index.get('sessions', tenant, key) !== undefined) {
    const message: SessionExpire = { type: 'session.expire', before };
    try {
      await askOrThrow(system, actor, message, {
        principal: SYSTEM_PRINCIPAL,
        timeoutMs: ASK_MS,
        timedOut: `the session ${key} has not answered yet: its removal is tried again`,
      });
    } catch (error) {
      if (errorData(error).code === 'CONFLICT') return false;
      throw error;
    }
  }
  await system.erasing.eraseTranscript(actor);
  return true;
}
