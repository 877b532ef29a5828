/** Reads the committed state that a run trace is made of. Activates no actor. */
import type { ActorTurn } from '../../protocols/actor-view.ts';
import { address } from '../../protocols/address.ts';
import { type ApprovalRow, APPROVALS_INDEX } from '../../protocols/approval.ts';
import {
  type ConversationRow,
  conversationRowKey,
  CONVERSATIONS_INDEX,
} from '../../protocols/conversation.ts';
import type { RunRow, SessionEntry, SessionRow } from '../../protocols/session.ts';
import { type SubagentRow, subagentRowKey, SUBAGENTS_INDEX } from '../../protocols/subagent.ts';
import type { System } from '../../runtime/index.ts';

const APPROVAL_FIELDS = [
  'id',
  'by',
  'asked_at',
  'title',
  'state',
  'decision',
  'decided_by',
  'decided_at',
] as const;
export type TracedApproval = Pick<ApprovalRow, (typeof APPROVAL_FIELDS)[number]>;

export type TraceReader = {
  run(runId: string): RunRow | undefined;
  session(sessionKey: string): SessionRow | undefined;
  /** conversations that runs of the session started */
  conversations(requester: string): readonly ConversationRow[];
  subagents(parent: string): readonly SubagentRow[];
  /** the newest turns of the session that are kept */
  turns(sessionKey: string): Promise<readonly ActorTurn[]>;
  /** questions of the session */
  approvals(sessionKey: string): Promise<readonly TracedApproval[]>;
  /** Entries of the session from `since` on, oldest first. `cut`: earlier ones are missing. */
  entries(
    sessionKey: string,
    since: number,
  ): Promise<{ readonly entries: readonly SessionEntry[]; readonly cut: boolean }>;
};

/** Limit of entries per session, and of rows of its messages and subagents. */
export const TRACE_ENTRIES_MAX = 5_000;
const ROWS_MAX = 1_000;
const WINDOW = 500;
const TURNS_MAX = 1_000;

export const traceReader = (
  { index, transcripts, actors }: Pick<System, 'index' | 'transcripts' | 'actors'>,
  tenant: string,
): TraceReader => {
  const rowsOf = <Row>(name: string, prefix: string) =>
    index.list<Row>(name, tenant, { prefix, limit: ROWS_MAX }).map(({ value }) => value);
  return {
    run: (runId) => index.get<RunRow>('runs', tenant, runId),
    session: (sessionKey) => index.get<SessionRow>('sessions', tenant, sessionKey),
    conversations: (requester) =>
      rowsOf<ConversationRow>(CONVERSATIONS_INDEX, conversationRowKey(requester, '')),
    subagents: (parent) => rowsOf<SubagentRow>(SUBAGENTS_INDEX, subagentRowKey(parent, '')),
    turns: async (sessionKey) => {
      const actor = address(tenant, 'session', sessionKey);
      return (await actors.history(actor, { limit: TURNS_MAX })).turns;
    },
    approvals: async (sessionKey) => {
      const by = address(tenant, 'session', sessionKey);
      const found: TracedApproval[] = [];
      await index.scan<ApprovalRow, (typeof APPROVAL_FIELDS)[number]>(
        APPROVALS_INDEX,
        tenant,
        { fields: APPROVAL_FIELDS },
        (row) => {
          if (row.by === by) found.push(row);
        },
      );
      return found;
    },
    entries: async (sessionKey, since) => {
      const actor = address(tenant, 'session', sessionKey);
      let entries: readonly SessionEntry[] = [];
      for (let to = await transcripts.last(actor); to > 0; to -= WINDOW) {
        const from = Math.max(1, to - WINDOW + 1);
        const read = await transcripts.read(actor, { from, limit: to - from + 1 });
        const found = read
          .filter(({ position }) => position <= to)
          .map(({ entry }) => entry as SessionEntry);
        const fresh = found.filter(({ at }) => at >= since);
        entries = [...fresh, ...entries];
        if (fresh.length < found.length) break;
        if (entries.length >= TRACE_ENTRIES_MAX) return { entries, cut: from > 1 };
      }
      return { entries, cut: false };
    },
  };
};
