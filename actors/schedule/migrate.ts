/** Migrates rows of the schedule that older versions wrote. */
import { sessionKey } from '../../protocols/session-key.ts';
import type { ActorDefinition } from '../../runtime/index.ts';
import type { ScheduleContext } from './job.ts';

type Migrate = ActorDefinition['migrate'][number];

/** Version 1 did not record the session of a fire: it was the session of the job. */
export const withPlaces: Migrate = (row) => {
  const context = row.snap.c as ScheduleContext;
  const { job, jobId, firing, runs } = context;
  if (job === null) return row;
  const place = { sessionKey: job.sessionKey ?? sessionKey.cron(job.agentId, jobId) };
  const c: ScheduleContext = {
    ...context,
    firing: firing && { ...place, ...firing },
    runs: runs.map((fire) => ({ ...place, ...fire })),
  };
  return { ...row, snap: { ...row.snap, c } };
};
