/**
 * Translates a job from OpenClaw's protocol into a job of the schedule actor. It only
 * reads which sessions exist.
 *
 * Boundary: refuses every field that troupe does not support, with the field's path. It never
 * accepts a field and ignores it.
 */
import { defined } from '../../../../protocols/defined.ts';
import { TroupeError } from '../../../../protocols/errors.ts';
import type { CronAddParams, CronPatch } from '../../../../protocols/gateway/index.ts';
import type { ScheduleJob, When } from '../../../../protocols/schedule.ts';
import { sessionKey as keys } from '../../../../protocols/session-key.ts';
import {
  type AgentNames,
  fullSessionKey,
  mainSessionKey,
} from '../../../../operations/sessions/session-key.ts';
import { keyNamed, type SessionRows } from '../../../../operations/sessions/find-session.ts';

/**
 * Merges the given fields into the existing job.
 * @throws TroupeError INVALID_ARGUMENT with the path of the invalid field
 */
export const jobFrom = (
  scope: SessionRows,
  jobId: string,
  given: CronPatch & Pick<CronAddParams, 'declarationKey' | 'owner'>,
  before?: ScheduleJob,
): ScheduleJob => {
  refuseUnsupported(given);
  const agentId = agentFrom(scope.names, given, before);
  const whole: { readonly [K in keyof ScheduleJob]?: ScheduleJob[K] | undefined } = {
    ...before,
    ...turnFrom(given.payload, before),
    agentId,
    when: given.schedule === undefined ? before?.when : whenFrom(given.schedule),
    ...sessionFrom(scope, jobId, agentId, given, before),
    ...pick(given, ['name', 'enabled', 'deleteAfterRun', 'missed', 'declarationKey']),
    ...(given.description === undefined ? {} : { description: given.description || undefined }),
    ...(given.displayName === undefined ? {} : { displayName: given.displayName ?? undefined }),
    ...(given.delivery?.mode === undefined
      ? {}
      : { announce: given.delivery.mode === 'announce' ? true : undefined }),
  };
  // The schema of jobs allows no undefined members, so removed fields are deleted.
  return Object.fromEntries(
    Object.entries(whole).filter(([, value]) => value !== undefined),
  ) as ScheduleJob;
};

const pick = <T extends object, K extends keyof T>(from: T, names: readonly K[]) =>
  Object.fromEntries(
    names.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]]])),
  );

const invalidField = (path: string, why: string): TroupeError =>
  new TroupeError('INVALID_ARGUMENT', `${path}: ${why}`, { details: { path } });

/** Refuses unsupported fields. A value that requests nothing is accepted. */
const refuseUnsupported = ({
  schedule,
  payload,
  delivery,
  failureAlert,
  pacing,
  trigger,
  owner,
  wakeMode,
}: CronPatch & { owner?: unknown }): void => {
  const event = payload?.kind === 'systemEvent';
  const kinds = 'use at, every or cron';
  if (schedule?.kind === 'on-exit' || schedule?.kind === 'stream')
    throw invalidField(
      '/schedule/kind',
      `schedules that wait for a command ("${schedule.kind}") are not supported: ${kinds}`,
    );
  if (payload?.kind === 'command' || payload?.kind === 'script')
    throw invalidField(
      '/payload/kind',
      `"${payload.kind}" is not supported: use agentTurn or systemEvent`,
    );
  if (pacing) throw invalidField('/pacing', 'pacing is not supported: omit it');
  if (trigger) throw invalidField('/trigger', 'conditions are not supported: omit it');
  if (owner !== undefined) throw invalidField('/owner', 'a job belongs to its agent: set agentId');
  if (failureAlert)
    throw invalidField('/failureAlert', 'failures are recorded in the run history: omit it');
  if (wakeMode === 'next-heartbeat' && event)
    throw invalidField('/wakeMode', 'agents have no heartbeat: use now');
  refuseUnsupportedTurn(payload);
  refuseUnsupportedDelivery(delivery);
};

const refuseUnsupportedTurn = (payload: CronPatch['payload']): void => {
  if (payload === undefined || !('toolsAllow' in payload || payload.kind === 'agentTurn')) return;
  const { toolsAllow } = payload as { toolsAllow?: readonly string[] | null };
  if (toolsAllow && !toolsAllow.includes('*'))
    throw invalidField(
      '/payload/toolsAllow',
      'a job uses the tools of its agent: configure the agent',
    );
  if (payload.kind !== 'agentTurn') return;
  if (payload.fallbacks?.length)
    throw invalidField('/payload/fallbacks', 'fallback models are configured for the agent');
  if (payload.lightContext) throw invalidField('/payload/lightContext', 'an agent has one context');
  if (payload.allowUnsafeExternalContent)
    throw invalidField('/payload/allowUnsafeExternalContent', 'this exception is not supported');
};

const refuseUnsupportedDelivery = (delivery: CronPatch['delivery']): void => {
  if (delivery === undefined) return;
  const { mode, channel, to, threadId, accountId, failureDestination, completionDestination } =
    delivery;
  if (mode === 'webhook')
    throw invalidField('/delivery/mode', 'answers are not posted to a webhook');
  if (channel && channel !== 'last' && channel !== 'webchat')
    throw invalidField(
      '/delivery/channel',
      `the channel "${channel.slice(0, 80)}" is not configured`,
    );
  const others = { to, threadId, accountId, failureDestination, completionDestination };
  for (const [name, value] of Object.entries(others))
    if (value !== undefined && value !== null)
      throw invalidField(
        `/delivery/${name}`,
        'replies are delivered only to the session of the job: omit it',
      );
};

const whenFrom = (schedule: NonNullable<CronPatch['schedule']>): When => {
  switch (schedule.kind) {
    case 'at':
      return { kind: 'at', at: timeFrom(schedule.at) };
    case 'every': {
      const { everyMs, anchorMs } = schedule;
      return { kind: 'every', everyMs, ...defined({ from: anchorMs }) };
    }
    case 'cron': {
      const { expr, tz, staggerMs } = schedule;
      return {
        kind: 'cron',
        expression: expr,
        ...(tz ? { timeZone: tz } : {}),
        ...(staggerMs ? { staggerMs } : {}),
      };
    }
    default:
      throw invalidField('/schedule/kind', 'use at, every or cron');
  }
};

/** ISO 8601 with an offset, or epoch milliseconds. */
const timeFrom = (at: string): number => {
  const time = /^\d{1,15}$/.test(at) ? Number(at) : Date.parse(at);
  if (!Number.isNaN(time) && /^\d{1,15}$|(Z|[+-]\d\d:?\d\d)$/.test(at)) return time;
  throw invalidField(
    '/schedule/at',
    `"${at.slice(0, 40)}" is not a time: write ISO 8601 with an offset`,
  );
};

const agentFrom = (names: AgentNames, given: CronPatch, before?: ScheduleJob): string => {
  const agentId =
    given.agentId === undefined
      ? (before?.agentId ?? names.defaultAgentId)
      : (given.agentId ?? names.defaultAgentId);
  return fullSessionKey(names, { agentId }).agentId;
};

/** `isolated`: the job has its own session, which is reset before each run. */
const sessionFrom = (
  scope: SessionRows,
  jobId: string,
  agentId: string,
  given: CronPatch,
  before?: ScheduleJob,
): { sessionKey?: string | undefined; fresh?: boolean | undefined } => {
  const { names } = scope;
  const own = { sessionKey: undefined, fresh: true };
  const target = given.sessionTarget;
  if (target === 'isolated') return own;
  if (target === 'main') return { sessionKey: mainSessionKey(names, agentId), fresh: undefined };
  if (target === 'current' || target?.startsWith('session:')) {
    const named = target === 'current' ? given.sessionKey : target.slice('session:'.length);
    const { sessionKey } = keyNamed(scope, { sessionKey: named ?? undefined, agentId });
    const isOwn = sessionKey === keys.cron(agentId, jobId);
    return { sessionKey: isOwn ? undefined : sessionKey, fresh: undefined };
  }
  // A job that moves to another agent leaves the sessions of the previous one.
  if (before === undefined || before.agentId === agentId) return {};
  return before.sessionKey === mainSessionKey(names, before.agentId)
    ? { sessionKey: mainSessionKey(names, agentId) }
    : own;
};

const turnFrom = (payload: CronPatch['payload'], before?: ScheduleJob) => {
  if (payload?.kind === 'systemEvent') {
    const text = payload.text ?? before?.text;
    return { kind: 'event' as const, text: text ?? missing('/payload/text'), ...NO_TURN };
  }
  if (payload?.kind !== 'agentTurn') return {};
  const { model, thinking, timeoutSeconds } = payload;
  const text = payload.message ?? before?.text;
  return {
    kind: undefined,
    text: text ?? missing('/payload/message'),
    ...(model === undefined ? {} : { model: model || undefined }),
    ...(thinking === undefined ? {} : { thinking: thinking || undefined }),
    ...(timeoutSeconds === undefined
      ? {}
      : { timeoutMs: timeoutSeconds === 0 ? undefined : Math.ceil(timeoutSeconds * 1_000) }),
  };
};
const NO_TURN = { model: undefined, thinking: undefined, timeoutMs: undefined };
const missing = (path: string): never => {
  throw invalidField(path, 'missing: this is the text that the agent receives');
};
