/**
 * What the effects of an erasure do. `remove` begins with what is found by transcripts, and removes
 * the transcripts last, so a repeat after a crash finds what is left.
 */
import { dirname } from 'node:path';
import { type Address, address, parseAddress } from '../../protocols/address.ts';
import {
  type ErasureCounts,
  type ErasureEffects,
  type ErasureTarget,
  type ErasureWork,
  LEGAL_HOLDS_INDEX,
  type LegalHoldRow,
  NO_COUNTS,
} from '../../protocols/erasure.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { type Config, workspaceFolderOf } from '../../runtime/config/index.ts';
import type { Blobs } from '../../runtime/blobs/blobs.ts';
import type { Artifacts, System } from '../../runtime/index.ts';
import type { Workspaces } from '../../runtime/workspaces/workspaces.ts';
import { type InstallationParts, partsFor } from '../tenant-parts.ts';
import { readBackupNotes } from '../backup-parts.ts';
import { countVectors, memoryPrefix, messagesPrefix, removeVectors } from '../blob-segments.ts';
import { copyLedger } from './pending.ts';
import { entriesOf, findRows, partOf, sessionsOf } from './find.ts';
import { ledgerFile, noteErasure } from './ledger.ts';
import { hashesIn, mentions } from './mentions.ts';
import { addWritten, clearWorkspace, eraseWritten, type WrittenTexts } from './session-files.ts';

export type ErasureParts = {
  readonly config: Config;
  readonly processServices: InstallationParts & {
    readonly bucket: { readonly value: Promise<Artifacts> };
    readonly blobs: { readonly value: Promise<Blobs> };
  };
  readonly workspaces: Workspaces;
};

/** Rows may appear while an actor is stopped, so the rows are searched again. */
const PASSES_MAX = 10;
const SURVEY_MS = 60_000;

export function erasureEffectsOf(
  opening: () => Promise<System>,
  parts: ErasureParts,
): ErasureEffects {
  return {
    async survey(target) {
      const system = await opening();
      const { sessions, shared } = await sessionsOf(system, target);
      await assertNotHeld(system, target, sessions);
      const work = { ...target, sessions, who: '', requestedAt: 0 };
      const signal = AbortSignal.timeout(SURVEY_MS);
      const counts = await removal(parts, system, work, { signal, isDryRun: true });
      if (Object.values(counts).every((count) => count === 0))
        throw new TroupeError('NOT_FOUND', `nothing is stored of ${target.kind} ${target.id}`);
      return { sessions, shared, counts };
    },
    async remove(work, signal) {
      const system = await opening();
      const { tenant, kind, id, requestedAt: at, who } = work;
      const { home } = parts.config;
      await noteErasure(ledgerFile(home), { tenant, kind, id, at, who });
      const { to } = readBackupNotes(parts.config);
      // Best effort: the folder of backups may be on a disk that is not mounted.
      if (to !== undefined)
        await copyLedger(home, to.endsWith('.troupe') ? dirname(to) : to).catch(() => {});
      return removal(parts, system, work, { signal, isDryRun: false });
    },
    async scrub(work, signal) {
      return (await opening()).erasing.scrub(work, signal);
    },
  };
}

type How = { readonly signal: AbortSignal; readonly isDryRun: boolean };

/** Removes, or only counts. */
async function removal(
  parts: ErasureParts,
  system: System,
  work: ErasureWork,
  how: How,
): Promise<ErasureCounts> {
  const { erasing } = system;
  const sessions = work.sessions.map((key) => address(work.tenant, 'session', key));
  const { files, hashes, ...content } = await contentOf(parts, system, sessions, work, how);
  const isOwn = letterOf(work);
  let deadLetters = await erasing.eraseLetters(isOwn, how.isDryRun);
  const found = await findRows(erasing, work, work.sessions);
  const actors = new Set<Address>([...sessions, ...found.actors]);
  const owned = [...actors];
  const artifacts = await eraseArtifacts(parts, system, work, { hashes, owned, ...how });
  let rows = found.rowCount;
  let transcriptEntries = 0;
  if (how.isDryRun) {
    for (const actor of actors) transcriptEntries += await countEntries(system, actor);
    const vectors = await eraseVectors(parts, work, content.noteAgents, true);
    const counts = { rows, transcriptEntries, deadLetters, artifacts, files, vectors };
    return countsOf({ sessions, actors, ...counts });
  }
  let now = found;
  for (let pass = 0; pass < PASSES_MAX; pass++) {
    for (const actor of pass === 0 ? actors : now.actors) {
      how.signal.throwIfAborted();
      actors.add(actor);
      await erasing.eraseActor(actor);
    }
    for (const shard of new Set([...now.rows.keys(), ...now.expiries.keys()]))
      await erasing.eraseRows(
        work.tenant,
        shard,
        now.rows.get(shard) ?? [],
        now.expiries.get(shard) ?? [],
      );
    now = await findRows(erasing, work, work.sessions);
    if (now.actors.length === 0 && now.rowCount === 0 && now.expiries.size === 0) break;
    rows += now.rowCount;
  }
  for (const actor of actors) transcriptEntries += await erasing.eraseTranscript(actor);
  const vectors = content.vectors + (await eraseVectors(parts, work, content.noteAgents, false));
  // Messages that were under way may have become letters meanwhile.
  deadLetters += await erasing.eraseLetters(isOwn);
  const counts = { rows, transcriptEntries, deadLetters, artifacts, files, vectors };
  return countsOf({ sessions, actors, ...counts });
}

type Counted = Omit<ErasureCounts, 'sessions' | 'actors'> & {
  readonly sessions: readonly Address[];
  readonly actors: ReadonlySet<Address>;
};
const countsOf = ({ sessions, actors, ...counts }: Counted): ErasureCounts => ({
  ...NO_COUNTS,
  ...counts,
  sessions: sessions.length,
  actors: [...actors].filter((actor) => parseAddress(actor).type !== 'session').length,
});

async function countEntries(system: System, actor: Address): Promise<number> {
  let entries = 0;
  for await (const _ of entriesOf(system, actor)) entries++;
  return entries;
}

/** Letters to or from the sessions, or that name one of them. */
function letterOf({ tenant, kind, sessions }: ErasureWork) {
  const keys = new Set(sessions);
  const addresses = new Set<string>(sessions.map((key) => address(tenant, 'session', key)));
  const isNamed = (text: string) => keys.has(text) || addresses.has(text);
  return (letter: { readonly to: string; readonly from?: string; readonly event?: unknown }) => {
    const { to, from, event } = letter;
    if (kind === 'tenant') return to.startsWith(`${tenant}/`);
    return isNamed(to) || (from !== undefined && isNamed(from)) || mentions(event, isNamed);
  };
}

type Content = {
  readonly files: number;
  readonly hashes: ReadonlySet<string>;
  /** removed */
  readonly vectors: number;
  /** agents whose notes the sessions wrote, so that all of their vectors go */
  readonly noteAgents: ReadonlySet<string>;
};

/** Removes what the sessions wrote into workspaces, and collects names of artifacts. */
async function contentOf(
  parts: ErasureParts,
  system: System,
  sessions: readonly Address[],
  work: ErasureWork,
  how: How,
): Promise<Content> {
  const hashes = new Set<string>();
  const byAgent = new Map<string, WrittenTexts>();
  for (const session of sessions) {
    const agentId = agentOf(parseAddress(session).key);
    const written = byAgent.get(agentId) ?? new Map<string, string[]>();
    byAgent.set(agentId, written);
    for await (const entry of entriesOf(system, session)) {
      addWritten(written, entry);
      for (const hash of hashesIn(entry)) hashes.add(hash);
    }
  }
  let [files, vectors] = [0, 0];
  const noteAgents = new Set<string>();
  if (work.kind === 'tenant')
    for (const { id } of partsFor(parts.processServices, work.tenant).agents)
      byAgent.set(id, byAgent.get(id) ?? new Map());
  for (const [agentId, written] of byAgent) {
    const owner = address(work.tenant, 'agent', agentId);
    if (workspaceFolderOf(parts.config, owner) !== undefined) continue;
    files +=
      work.kind === 'tenant'
        ? await clearWorkspace(parts.workspaces, owner, how)
        : await eraseWritten(parts.workspaces, owner, written, how);
    if ([...written.keys()].some((path) => path.endsWith('.md'))) noteAgents.add(agentId);
    if (how.isDryRun) continue;
    await parts.workspaces.dropVersions?.(owner);
    if (noteAgents.has(agentId)) vectors += await eraseBelow(parts, memoryPrefix(owner), false);
  }
  return { files, hashes, vectors, noteAgents };
}

/**
 * Stored vectors say something about their texts. After the texts are removed: see `contentOf`.
 * @returns how many there were
 */
async function eraseVectors(
  parts: ErasureParts,
  { tenant, kind, sessions }: ErasureWork,
  noteAgents: ReadonlySet<string>,
  isDryRun: boolean,
): Promise<number> {
  const prefixOf = (agentId: string) => {
    const owner = address(tenant, 'agent', agentId);
    return noteAgents.has(agentId) ? memoryPrefix(owner) : messagesPrefix(owner);
  };
  const prefixes =
    kind === 'tenant' ? [`memory/${tenant}/`] : [...new Set(sessions.map(agentOf))].map(prefixOf);
  let vectors = 0;
  for (const prefix of prefixes) vectors += await eraseBelow(parts, prefix, isDryRun);
  return vectors;
}

/** Removes the vectors below a prefix, or only counts them. @returns how many there were */
async function eraseBelow(
  { processServices }: ErasureParts,
  prefix: string,
  isDryRun: boolean,
): Promise<number> {
  const blobs = await processServices.blobs.value;
  const vectors = await countVectors(blobs, prefix);
  if (!isDryRun) await removeVectors(blobs, prefix);
  return vectors;
}

/** Of a session key, as `agent:main:…`. */
const agentOf = (sessionKey: string): string => sessionKey.split(':')[1] ?? 'main';

type Shared = How & {
  readonly hashes: ReadonlySet<string>;
  readonly owned: readonly Address[];
};

/** Removes files that only these actors name, in transcripts or in their state. */
async function eraseArtifacts(
  { processServices }: ErasureParts,
  system: System,
  { tenant }: ErasureWork,
  { hashes, owned, isDryRun }: Shared,
): Promise<number> {
  if (hashes.size === 0) return 0;
  const bucket = await processServices.bucket.value;
  const own = new Set<string>(owned);
  const left = new Set<string>();
  for (const hash of hashes)
    if (
      await bucket.get(tenant, hash).then(
        () => true,
        () => false,
      )
    )
      left.add(hash);
  for await (const other of system.erasing.transcripts(tenant)) {
    if (left.size === 0) return 0;
    if (own.has(other)) continue;
    for await (const entry of entriesOf(system, other))
      for (const hash of hashesIn(entry)) left.delete(hash);
  }
  for await (const row of system.erasing.rows(tenant))
    if (row.kind === 'actor' && !own.has(row.actor))
      for (const hash of hashesIn(row.context)) left.delete(hash);
  if (!isDryRun) for (const hash of left) await bucket.remove(tenant, hash);
  return left.size;
}

/** @throws TroupeError CONFLICT */
async function assertNotHeld(
  system: System,
  target: ErasureTarget,
  sessions: readonly string[],
): Promise<void> {
  const { tenant, kind, id } = target;
  for (const { value } of system.index.list<LegalHoldRow>(LEGAL_HOLDS_INDEX, tenant)) {
    if (!(await isHeldBy(system, target, sessions, value))) continue;
    throw new TroupeError(
      'CONFLICT',
      `${kind} ${id} is under the legal hold of ${value.kind} ${value.id} (${value.why}): ` +
        `release it first with \`troupe hold release ${value.kind} ${value.id}\``,
      { details: { reason: 'HELD', hold: `${value.kind}:${value.id}` } },
    );
  }
}

async function isHeldBy(
  system: System,
  { tenant, kind, id }: ErasureTarget,
  sessions: readonly string[],
  hold: LegalHoldRow,
): Promise<boolean> {
  if (kind === 'tenant' || hold.kind === 'tenant') return true;
  if (hold.kind === kind && hold.id === id) return true;
  if (hold.kind === 'session') return sessions.includes(hold.id);
  for (const key of sessions) {
    const part = await partOf(system, address(tenant, 'session', key), hold.id);
    if (part !== 'none' || key.endsWith(`:${hold.id}`)) return true;
  }
  return false;
}
