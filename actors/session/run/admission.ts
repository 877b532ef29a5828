/**
 * Admission: a run asks the agent whether it may start, and receives its settings; or it starts
 * under the standing lease that an earlier admission gave to the session. Pure.
 */
import { settled } from '../queue/accept.ts';
import { unjoined } from '../queue/waiting-messages.ts';
import { admissionOf, admitterOf, underTerms } from '../subagents/subagent-limits.ts';
import {
  type ActionArgs,
  type ActionResult,
  defined,
  errorOf,
  on,
  type RunEventBody,
  runOf,
  withRun,
} from '../action-result.ts';
import { LEASE_REVOKED } from '../effect-types.ts';
import type { SessionContext } from '../types.ts';

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
  const { settings: given, lease, standing } = event;
  const { terms } = context;
  const settings = terms ? underTerms(given, terms) : given;
  const queue = settled({ ...context, settings });
  return {
    change: {
      settings,
      ...(standing || context.standing ? { standing } : {}),
      queue: unjoined({ ...context, queue }),
      ...withRun(context, { lease }),
    },
    events: runOf(context).isAnnounced ? [] : [started(context)],
  };
});

const started = (context: SessionContext): RunEventBody => {
  const { startedAt, origin } = runOf(context);
  const about = defined({ origin, spawnedBy: context.terms?.parent });
  return { stream: 'lifecycle', phase: 'start', startedAt, ...about };
};

// ---- under a standing lease

export const hasStanding = ({ context }: ActionArgs): boolean => context.standing !== undefined;

/** The run begins unasked; its first effect checks that the lease is still good. */
export const beginStanding = ({ context }: ActionArgs): ActionResult => ({
  change: {
    queue: unjoined(context),
    ...withRun(context, defined({ standing: context.standing })),
  },
  events: [started(context)],
});

export const isRevoked = ({ event }: ActionArgs): boolean =>
  errorOf(event).details?.['reason'] === LEASE_REVOKED;

/** The run is as before its admission, which it asks for. */
export function onRevoked({ context }: ActionArgs): ActionResult {
  const { standing: _, hasCalled: __, ...run } = runOf(context);
  const change = { standing: undefined, run: { ...run, isAnnounced: true as const } };
  return { change, tells: [admissionOf(context)] };
}

/** A second admission, or one after the run's end: its slot is released. */
export const returnSlot = on('agent.admitted', ({ context, event }): ActionResult => {
  const { runId, lease } = event;
  return { tells: [{ to: admitterOf(context), event: { type: 'agent.return', runId, lease } }] };
});
