/** The sessions of OpenClaw as items: transcripts of the newest windows, and archives. */
import { NeedsNewerNode } from '../../../installation/openclaw/compressed.ts';
import type { FoundSession, LeftOut } from '../../../installation/openclaw/found.ts';
import { numberOf } from '../../../installation/openclaw/found.ts';
import type { OpenClaw } from '../../../installation/openclaw/read.ts';
import { type Transcript, transcriptOf } from '../../../installation/openclaw/transcript.ts';
import { sessionImport } from '../../../operations/sessions.ts';
import { importedKey } from '../../../protocols/openclaw-key.ts';
import { formatSessionKey, parseSessionKey } from '../../../protocols/session-key.ts';
import type { SessionEntry } from '../../../protocols/session.ts';
import { importOne } from '../../sessions/import-sessions.ts';
import type { Destination, Item } from './items.ts';

export type SessionItems = {
  readonly items: readonly Item[];
  readonly agents: ReadonlySet<string>;
  readonly leftOut: readonly LeftOut[];
};

export function sessionItems({ sessions }: OpenClaw): SessionItems {
  const items: Item[] = [];
  const leftOut: LeftOut[] = [];
  const agents = new Set<string>();
  const targets = new Set<string>();
  for (const session of inOrder(sessions)) {
    const { key, sessionId } = session;
    const kind = session.isNewest ? 'session' : 'archive';
    const id = session.isNewest ? key : `${key} ${sessionId}`;
    try {
      const why = reasonAgainst(key);
      const transcript = why === undefined ? transcriptOf(session) : undefined;
      if (transcript === undefined || transcript.messages === 0) {
        leftOut.push({ kind, id, reason: why ?? 'it has no messages' });
        continue;
      }
      const item = itemOf(session, transcript, targets);
      targets.add(item.target);
      agents.add(agentOf(item.target));
      items.push(item);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      leftOut.push({
        kind,
        id,
        reason,
        ...(error instanceof NeedsNewerNode ? {} : { isDamaged: true }),
      });
    }
  }
  return { items, agents, leftOut };
}

/** The newest first: two keys may name one conversation here, and the newest one gets it. */
const inOrder = (sessions: readonly FoundSession[]): readonly FoundSession[] => {
  const at = ({ entry }: FoundSession) => numberOf(entry['updatedAt']) ?? 0;
  return sessions.toSorted(
    (a, b) => Number(b.isNewest) - Number(a.isNewest) || at(b) - at(a) || (a.key < b.key ? -1 : 1),
  );
};

function reasonAgainst(key: string): string | undefined {
  if (/:subagent:/.test(key)) return 'of a subagent, which ends with its task';
  return /:acp:/.test(key) ? 'of an ACP program, which keeps its own session' : undefined;
}

function itemOf(session: FoundSession, transcript: Transcript, targets: ReadonlySet<string>): Item {
  const { key, sessionId } = session;
  const natural = importedKey(key, session.agentId);
  const isFree = session.isNewest && !targets.has(natural);
  const target = isFree ? natural : archiveKey(agentOf(natural), session);
  const shown = { ...session, isNewest: isFree };
  const { counts, messages, hash } = transcript;
  const detail = [
    `${messages} messages`,
    counts.branches > 0 ? `${counts.branches} events on other branches skipped` : '',
    counts.images > 0 ? `${counts.images} images skipped` : '',
    isFree || !session.isNewest ? '' : `${natural} has a newer session`,
  ];
  return {
    kind: isFree ? 'session' : 'archive',
    id: session.isNewest ? key : `${key} ${sessionId}`,
    target,
    hash,
    detail: detail.filter(Boolean).join(', '),
    write: (to) => write(to, target, transcriptOf(shown)),
  };
}

const archiveKey = (agentId: string, { sessionId }: FoundSession): string =>
  formatSessionKey({ type: 'main', agentId, mainKey: `openclaw-${sessionId}` });

const agentOf = (key: string): string => {
  const parts = parseSessionKey(key);
  return parts.type === 'other' ? '' : parts.agentId;
};

/** The session's own import: what is stored of it already is not written again. */
async function write(
  { call }: Destination,
  key: string,
  { facts, entries }: Transcript,
): Promise<'imported' | 'exists'> {
  let isNew = false;
  await importOne(inTurn(entries), entries.length, async (page) => {
    const done = await call(sessionImport, { key, facts, ...page, entries: [...page.entries] });
    isNew ||= done.entries === page.from + page.entries.length;
    return done;
  });
  return isNew ? 'imported' : 'exists';
}

async function* inTurn(entries: readonly SessionEntry[]): AsyncGenerator<SessionEntry> {
  yield* entries;
}
