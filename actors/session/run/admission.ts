/** Admission: a run asks the agent whether it may start, and receives its settings. Pure. */
import { settled } from '../queue/accept.ts';
import { unjoined } from '../queue/waiting-messages.ts';
import { admissionOf, admitterOf, underTerms } from '../subagents/subagent-limits.ts';
import {
  type ActionArgs,
  type ActionResult,
  defined,
  on,
  runOf,
  withRun,
} from '../action-result.ts';

export const isOurRun = on(
  ['agent.admitted', 'agent.refused'],
  ({ context, event }): boolean => event.runId === runOf(context).runId,
);

export const admissionRefused = on(
  'refused',
  ({ event }): boolean => event.message === 'agent.admit',
);

export const askAdmission = ({ context }: ActionArgs): ActionResult => ({
  tells: [admissionOf(context)],
});

/** The agent's current settings apply to the complete run. */
export const admit = on('agent.admitted', ({ context, event }): ActionResult => {
  const { settings: given, lease } = event;
  const { startedAt, origin } = runOf(context);
  const { terms } = context;
  const settings = terms ? underTerms(given, terms) : given;
  const about = defined({ origin, spawnedBy: terms?.parent });
  const queue = settled({ ...context, settings });
  return {
    change: {
      settings,
      queue: unjoined({ ...context, queue }),
      ...withRun(context, { lease }),
    },
    events: [{ stream: 'lifecycle', phase: 'start', startedAt, ...about }],
  };
});

/** A second admission, or one after the run's end: its slot is released. */
export const returnSlot = on('agent.admitted', ({ context, event }): ActionResult => {
  const { runId, lease } = event;
  return { tells: [{ to: admitterOf(context), event: { type: 'agent.return', runId, lease } }] };
});
