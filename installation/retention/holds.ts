/**
 * Holds: what the legal holds of a tenant cover. A hold of a session also covers its subagents; a
 * hold of a user every session in which the user wrote. Rows are read again at each question, so a
 * hold that is set during a sweep counts for everything that is not removed yet.
 */
import { address, parseAddress } from '../../protocols/address.ts';
import { LEGAL_HOLDS_INDEX, type LegalHoldRow } from '../../protocols/erasure.ts';
import type { SessionRow } from '../../protocols/session.ts';
import type { System } from '../../runtime/index.ts';
import { entriesOf, partOf } from '../erasure/find.ts';
import { hashesIn, mentions } from '../erasure/mentions.ts';

const LIST_MAX = 10_000;
/** A subagent of a subagent has a parent, and so on. */
const DEPTH_MAX = 32;

type Reads = Pick<System, 'index' | 'transcripts' | 'erasing'>;

export class Holds {
  readonly #system: Reads;

  constructor(system: Reads) {
    this.#system = system;
  }

  rows(tenant: string): readonly LegalHoldRow[] {
    return this.#system.index
      .list<LegalHoldRow>(LEGAL_HOLDS_INDEX, tenant, { limit: LIST_MAX })
      .map(({ value }) => value);
  }

  /** Whether all of the tenant is held. */
  isTenantHeld(tenant: string): boolean {
    return this.rows(tenant).some(({ kind }) => kind === 'tenant');
  }

  async isSessionHeld(tenant: string, key: string): Promise<boolean> {
    const rows = this.rows(tenant);
    if (rows.length === 0) return false;
    const keys = this.#withParents(tenant, key);
    for (const { kind, id } of rows) {
      if (kind === 'tenant') return true;
      if (kind === 'session' && keys.includes(id)) return true;
      if (kind !== 'user') continue;
      for (const each of keys) {
        if (each.endsWith(`:${id}`)) return true;
        if ((await partOf(this.#system, address(tenant, 'session', each), id)) !== 'none')
          return true;
      }
    }
    return false;
  }

  /** Whether a value names something that is held, as a record or a message does. */
  async isNamedIn(tenant: string, value: unknown): Promise<boolean> {
    const rows = this.rows(tenant);
    if (rows.length === 0) return false;
    if (rows.some(({ kind }) => kind === 'tenant')) return true;
    const ids = new Set<string>(rows.map(({ id }) => id));
    for (const { kind, id } of rows)
      if (kind === 'session') ids.add(address(tenant, 'session', id));
    return mentions(value, (text) => ids.has(text));
  }

  /** Files that held sessions name. */
  async heldHashes(tenant: string): Promise<ReadonlySet<string>> {
    const hashes = new Set<string>();
    if (this.rows(tenant).length === 0) return hashes;
    for (const session of await sessionsOf(this.#system, tenant)) {
      if (!(await this.isSessionHeld(tenant, session))) continue;
      const actor = address(tenant, 'session', session);
      for await (const entry of entriesOf(this.#system, actor))
        for (const hash of hashesIn(entry)) hashes.add(hash);
    }
    return hashes;
  }

  #withParents(tenant: string, key: string): readonly string[] {
    const keys = [key];
    for (let depth = 0; depth < DEPTH_MAX; depth++) {
      const row = this.#system.index.get<SessionRow>('sessions', tenant, keys.at(-1)!);
      const parent = row?.spawnedBy;
      if (parent === undefined) break;
      keys.push(parent.includes('/session/') ? parseAddress(parent).key : parent);
    }
    return keys;
  }
}

/** Keys of sessions in the list, and of those that have a transcript only. In order. */
export async function sessionsOf(
  system: Pick<System, 'index' | 'erasing'>,
  tenant: string,
): Promise<string[]> {
  const keys = new Set<string>();
  const PAGE = 1_000;
  for (let after: string | undefined; ; ) {
    const page = system.index.list<SessionRow>('sessions', tenant, {
      limit: PAGE,
      ...(after !== undefined && { after }),
    });
    for (const { key } of page) keys.add(key);
    if (page.length < PAGE) break;
    after = page.at(-1)!.key;
  }
  for await (const actor of system.erasing.transcripts(tenant)) {
    const { type, key } = parseAddress(actor);
    if (type === 'session') keys.add(key);
  }
  return [...keys].toSorted((a, b) => (a < b ? -1 : 1));
}
