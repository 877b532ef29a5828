/** look: the row of the run that a job began, once. */
import type { RunRow } from '../../../protocols/session.ts';
import type { EffectDefinition } from '../../../runtime/index.ts';
import type { Looked, LookInput } from '../job.ts';

export const look: EffectDefinition<LookInput, Looked> = {
  class: 'repeatable',
  timeoutMs: 30_000,
  async run({ tenant, session, runId }, context) {
    const index = await context.index(session);
    const row = index.get<RunRow>('runs', tenant, runId);
    if (!row || row.status === 'queued' || row.status === 'running') return null;
    const { status, error, endedAt = context.now() } = row;
    return { status, endedAt, ...(error ? { error } : {}) };
  },
};
