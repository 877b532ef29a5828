/** look: reads the row of the run that a job started, once. */
import { FIRE_TEXT_CHARACTERS_MAX } from '../../../protocols/schedule.ts';
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
    const { status, error, text, model, usage, endedAt = context.now() } = row;
    return {
      status,
      endedAt,
      ...(error ? { error } : {}),
      ...(text ? { text: text.slice(0, FIRE_TEXT_CHARACTERS_MAX) } : {}),
      ...(model ? { model } : {}),
      ...(usage ? { usage } : {}),
    };
  },
};
