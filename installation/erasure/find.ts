/**
 * Find: which sessions, actors and rows belong to a target. It reads committed rows and
 * transcripts, and changes nothing.
 *
 * A session owns its subagents with their sessions, and the actors that work for it and name it:
 * conversations, schedules, approvals, calls, chats and tasks. A fork is a session of its own.
 */
import { type Address, address, parseAddress } from '../../protocols/address.ts';
import type { ErasureTarget } from '../../protocols/erasure.ts';
import type { SessionEntry } from '../../protocols/session.ts';
import type { Erasing, StoredRow, System } from '../../runtime/index.ts';
import { mentions } from './mentions.ts';

/** Actors that hold content for a session, which they name. */
const OWNED = new Set([
  'agent-message',
  'approval',
  'chat',
  'conversation',
  'notification',
  'process',
  'push',
  'remote-call',
  'schedule',
  'subagent',
  'task',
]);
/** Actors of a tenant that an erasure of the tenant keeps. */
const KEPT = new Set([
  'agent',
  'audit',
  'budget',
  'erasure',
  'keyring',
  'legal-hold',
  'mcp-server',
  'registry',
  'retention',
  'root',
  'settings',
  'supervisor',
]);
/** Indexes whose rows belong to them, or to sessions by their key. */
const KEPT_INDEXES = new Set([
  'agent_days',
  'agents',
  'alarms',
  'audits',
  'budgets',
  'channels',
  'cluster',
  'erasures',
  'keys',
  'legal-holds',
  'mcp-servers',
  'mcp-tools',
  'registry',
  'retention',
  'settings',
  'supervisors',
  'workers',
]);

export type IndexRows = ReadonlyMap<
  number,
  readonly { readonly index: string; readonly key: string }[]
>;
export type Found = {
  readonly actors: readonly Address[];
  readonly rows: IndexRows;
  /** keys of expiry rows, by shard */
  readonly expiries: ReadonlyMap<number, readonly string[]>;
  readonly rowCount: number;
};

export type FindParts = { readonly erasing: Erasing; readonly transcripts: System['transcripts'] };

const PAGE = 1_000;

/** Every entry of a transcript. */
export async function* entriesOf(
  { transcripts }: Pick<FindParts, 'transcripts'>,
  actor: Address,
): AsyncIterable<SessionEntry> {
  for (let from = 1; ; ) {
    const page = await transcripts.read(actor, { from, limit: PAGE });
    for (const { entry } of page) yield entry as unknown as SessionEntry;
    if (page.length === 0) return;
    from = page.at(-1)!.position + 1;
  }
}

/** Keys of the sessions of a target, with those of their subagents; `shared`: see ErasureRow. */
export async function sessionsOf(
  parts: FindParts,
  target: ErasureTarget,
): Promise<{ readonly sessions: readonly string[]; readonly shared: number }> {
  const { tenant, kind, id } = target;
  const all = new Set<string>();
  const parents = new Map<string, string>();
  for await (const actor of parts.erasing.transcripts(tenant)) {
    const { type, key } = parseAddress(actor);
    if (type === 'session') all.add(key);
  }
  for await (const row of parts.erasing.rows(tenant)) {
    if (row.kind !== 'actor' || row.type !== 'session') continue;
    const { key } = parseAddress(row.actor);
    all.add(key);
    const parent = parentOf(row.context);
    if (parent !== undefined) parents.set(key, parent);
  }
  if (kind === 'tenant') return { sessions: [...all], shared: 0 };
  if (kind === 'session')
    return { sessions: withChildren(all.has(id) ? [id] : [], parents), shared: 0 };
  const own: string[] = [];
  let shared = 0;
  for (const key of all) {
    const part = await partOf(parts, address(tenant, 'session', key), id);
    if (part === 'all' || (part === 'none' && key.endsWith(`:${id}`))) own.push(key);
    else if (part === 'some') shared++;
  }
  return { sessions: withChildren(own, parents), shared };
}

function parentOf(context: unknown): string | undefined {
  const parent = (context as { terms?: { parent?: unknown } } | undefined)?.terms?.parent;
  return typeof parent === 'string' ? parent : undefined;
}

function withChildren(keys: readonly string[], parents: ReadonlyMap<string, string>): string[] {
  const found = new Set(keys);
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    for (const [child, parent] of parents) {
      const key = parent.includes('/session/') ? parseAddress(parent).key : parent;
      if (found.has(key)) found.add(child);
    }
  }
  return [...found];
}

/** Whether a user wrote all messages of users in a session, some of them, or none. */
export async function partOf(
  parts: FindParts,
  session: Address,
  user: string,
): Promise<'all' | 'some' | 'none'> {
  let own = false;
  let others = false;
  for await (const entry of entriesOf(parts, session)) {
    if (entry.type !== 'user' || entry.sender === undefined) continue;
    if (entry.sender === user) own = true;
    else others = true;
  }
  return own ? (others ? 'some' : 'all') : 'none';
}

/** What is stored of the sessions beside their transcripts. */
export async function findRows(
  erasing: Erasing,
  target: ErasureTarget,
  sessions: readonly string[],
): Promise<Found> {
  const { tenant, kind } = target;
  const keys = new Set(sessions);
  const addresses = new Set(sessions.map((key) => address(tenant, 'session', key) as string));
  const isNamed = (text: string) => keys.has(text) || addresses.has(text);
  const isAll = kind === 'tenant';
  const actorIsOwned = (actor: Address) =>
    isAll ? !KEPT.has(parseAddress(actor).type) : addresses.has(actor);
  const actors = new Set<Address>();
  const rows = new Map<number, { index: string; key: string }[]>();
  const expiring: Extract<StoredRow, { kind: 'expiry' }>[] = [];
  const owned = new Set<string>();
  let rowCount = 0;
  for await (const row of erasing.rows(tenant)) {
    if (row.kind === 'expiry') {
      expiring.push(row);
      continue;
    }
    if (row.kind === 'index') {
      if (!ownsRow(row, { isAll, isNamed, keys })) continue;
      const { shard, index, key } = row;
      rows.set(shard, [...(rows.get(shard) ?? []), { index, key }]);
      owned.add(`${index}|${key}`);
      rowCount++;
      continue;
    }
    const { type, key } = parseAddress(row.actor);
    if (actorIsOwned(row.actor)) actors.add(row.actor);
    if (isAll || row.kind !== 'actor' || !OWNED.has(type)) continue;
    if (isNamed(key) || mentions(row.context, isNamed)) actors.add(row.actor);
  }
  const expiries = new Map<number, string[]>();
  for (const { shard, expiry, of } of expiring) {
    const isOwned =
      'actor' in of ? actorIsOwned(of.actor) : isAll || owned.has(`${of.index}|${of.key}`);
    if (isOwned) expiries.set(shard, [...(expiries.get(shard) ?? []), expiry]);
  }
  return { actors: [...actors], rows, expiries, rowCount };
}

type Owning = {
  readonly isAll: boolean;
  readonly isNamed: (text: string) => boolean;
  readonly keys: ReadonlySet<string>;
};

function ownsRow(
  { index, key, value }: { readonly index: string; readonly key: string; readonly value: unknown },
  { isAll, isNamed, keys }: Owning,
): boolean {
  if (KEPT_INDEXES.has(index)) return false;
  if (isAll) return true;
  if (index === 'sessions') return keys.has(key);
  if (index === 'runs') return keys.has((value as { sessionKey: string }).sessionKey);
  return isNamed(key) || mentions(value, isNamed);
}
