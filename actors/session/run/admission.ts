/**
 * Admission: a run asks its agent for a slot and receives the agent's settings, or it starts under
 * the standing lease that the session received with an earlier admission. Pure.
 */
import { settled } from '../queue/accept.ts';
import { withOwnRuns } from '../queue/waiting-messages.ts';
import { admissionOf, admitterOf, underTerms } from '../subagents/subagent-limits.ts';
import {
  type ActionArgs,
  type ActionResult,
  defined,
  errorOf,
  nowOf,
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

/** The run keeps the settings of its admission until its end. */
export const admit = on('agent.admitted', ({ context, event }): ActionResult => {
  const { settings: given, lease, standing } = event;
  const { terms } = context;
  const settings = terms ? underTerms(given, terms) : given;
  const queue = settled({ ...context, settings });
  return {
    change: {
      settings,
      ...(standing || context.standing ? { standing } : {}),
      queue: withOwnRuns({ ...context, queue }),
      ...withRun(context, { lease, ...admittedAt(context, nowOf(event)) }),
    },
    events: runOf(context).isAnnounced ? [] : [started(context)],
  };
});

/** Only after a wait that matters to a person. */
const admittedAt = (context: SessionContext, now: number): { admittedAt?: number } =>
  now - runOf(context).startedAt > 1_000 ? { admittedAt: now } : {};

const started = (context: SessionContext): RunEventBody => {
  const { startedAt, origin } = runOf(context);
  const about = defined({ origin, spawnedBy: context.terms?.parent });
  return { stream: 'lifecycle', phase: 'start', startedAt, ...about };
};

// ---- under a standing lease

export const hasStanding = ({ context }: ActionArgs): boolean => context.standing !== undefined;

/** The run starts without an admission; its first effect checks that the lease is still valid. */
export const beginStanding = ({ context }: ActionArgs): ActionResult => ({
  change: {
    queue: withOwnRuns(context),
    ...withRun(context, defined({ standing: context.standing })),
  },
  events: [started(context)],
});

export const isRevoked = ({ event }: ActionArgs): boolean =>
  errorOf(event).details?.['reason'] === LEASE_REVOKED;

/** Resets the run to its state before the admission, which it then requests. */
export function onRevoked({ context }: ActionArgs): ActionResult {
  const { standing: _, hasCalled: __, ...run } = runOf(context);
  const change = { standing: undefined, run: { ...run, isAnnounced: true as const } };
  return { change, tells: [admissionOf(context)] };
}

/** Releases the slot of a second admission, or of one that arrives after the run's end. */
export const returnSlot = on('agent.admitted', ({ context, event }): ActionResult => {
  const { runId, lease } = event;
  return { tells: [{ to: admitterOf(context), event: { type: 'agent.return', runId, lease } }] };
});
