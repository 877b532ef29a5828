/** Subagents of a session for `chat.history`, from committed rows. */
import { defined } from '../../../protocols/defined.ts';
import type { ChatSubagent } from '../../../protocols/gateway/index.ts';
import { type SubagentRow, subagentRowKey, SUBAGENTS_INDEX } from '../../../protocols/subagent.ts';
import type { TenantScope } from '../tenant/tenant-scope.ts';
import type { LiveRuns } from '../streams/live-runs.ts';
import { FINDINGS_SHOWN_CHARACTERS, SUBAGENTS_READ_MAX, SUBAGENTS_SHOWN_MAX } from '../limits.ts';

/** Newest first; no field when there are none. */
export const subagentList = (
  { system, tenant, runs }: TenantScope & { readonly runs: Pick<LiveRuns, 'row'> },
  sessionKey: string,
): { readonly subagents?: readonly ChatSubagent[] } => {
  const options = { prefix: subagentRowKey(sessionKey, ''), limit: SUBAGENTS_READ_MAX };
  const rows = system.index
    .list<SubagentRow>(SUBAGENTS_INDEX, tenant, options)
    .map(({ value }) => value);
  if (rows.length === 0) return {};
  const newest = rows.toSorted((a, b) => b.createdAt - a.createdAt).slice(0, SUBAGENTS_SHOWN_MAX);
  return { subagents: newest.map((row) => shown(row, runs.row(row.runId)?.text)) };
};

const shown = (row: SubagentRow, findings: string | undefined): ChatSubagent => ({
  id: row.id,
  runId: row.parentRunId,
  sessionKey: row.sessionKey,
  status: row.status,
  task: row.task,
  createdAt: row.createdAt,
  ...defined({ label: row.label, reason: row.reason }),
  ...(findings ? { findings: findings.slice(0, FINDINGS_SHOWN_CHARACTERS) } : {}),
  ...(row.usage ? { tokens: row.usage.inputTokens + row.usage.outputTokens } : {}),
  ...defined({ startedAt: row.startedAt, endedAt: row.endedAt }),
});
