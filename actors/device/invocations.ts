/**
 * Invocations: commands on their way to a node and back. Pure.
 *
 * An invocation is published to the gateway of the node's connection until that gateway accepts it;
 * only then does the node receive it. So after an end with `outcome: none` the node never executes
 * it. An accepted one ends with the node's answer, with `unknown`, or, if the node keeps a record
 * of its commands, after it was sent again.
 *
 * Invariants: the caller is answered exactly once; the node's first answer counts, and is kept for
 * repeats; everything stored is bounded in number, size and time.
 */
import { checker, describeErrors } from '../../protocols/check.ts';
import {
  ASKERS_MAX,
  DELIVER_AGAIN_MS,
  DELIVERIES_MAX,
  type DeviceCancel,
  type DeviceDeliver,
  type DeviceInvoke,
  DeviceInvokeSchema,
  type DeviceNotice,
  INVOCATION_KEPT_MS,
  invocationDigest,
  INVOCATIONS_KEPT,
  INVOCATIONS_MAX,
  KEPT_CHARACTERS_MAX,
  PAYLOAD_CHARACTERS_MAX,
  type Payload,
  PENDING_CHARACTERS_MAX,
} from '../../protocols/device.ts';
import type { ErrorCode, ErrorData } from '../../protocols/errors.ts';
import type { Reply } from '../../protocols/statechart.ts';
import {
  answer,
  type ActionArgs,
  type ArgsOf,
  type ActionResult,
  on,
  nowOf,
  refuse,
} from './action-result.ts';
import { refusalOf } from './permitted.ts';
import type { DeviceContext, Ended, Invocation } from './types.ts';

// ---- requests of callers

const checkInvoke = checker(DeviceInvokeSchema);
const problemOf = ({ event: { meta: _, ...invoke } }: ActionArgs): string | undefined => {
  const checked = checkInvoke(invoke);
  if (!checked.ok) return describeErrors(checked.errors);
  return isJson(checked.value.paramsJson) ? undefined : '/paramsJson must be JSON';
};
const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};
/**
 * A node host of OpenClaw trusts these two parameters, because its own gateway verifies them.
 * troupe verifies neither, so it removes them: the node's own rules decide whether approval is
 * required.
 */
const unvouched = ({ command, paramsJson }: DeviceInvoke): string => {
  if (command !== 'system.run') return paramsJson;
  const params = JSON.parse(paramsJson) as unknown;
  if (typeof params !== 'object' || params === null || Array.isArray(params)) return paramsJson;
  const { approved: _, approvalDecision: __, ...rest } = params as Record<string, unknown>;
  return JSON.stringify(rest);
};
const digestOf = ({ command, paramsJson }: DeviceInvoke): string =>
  invocationDigest(command, paramsJson);

const pendingOf = (at: ArgsOf<'device.invoke'>): Invocation | undefined =>
  at.context.invocations.find(({ id }) => id === at.event.id);
const endedOf = (at: ArgsOf<'device.invoke'>): Ended | undefined =>
  at.context.ended.find(({ id }) => id === at.event.id);

/** A repeat of an invocation that waits for its answer. */
export const isPending = on('device.invoke', (at): boolean => pendingOf(at) !== undefined);
/** A repeat of an invocation that has ended. */
export const isEnded = on('device.invoke', (at): boolean => endedOf(at) !== undefined);

export const join = on('device.invoke', (at): ActionResult => {
  const invocation = pendingOf(at)!;
  const { reply } = at.event.meta;
  if (invocation.digest !== digestOf(at.event)) return conflict(at);
  if (!reply || invocation.askers.some(({ id }) => id === reply.id)) return {};
  if (invocation.askers.length >= ASKERS_MAX)
    return refuse(at, 'RATE_LIMIT_EXCEEDED', `${ASKERS_MAX} already wait for this command`);
  const askers = [...invocation.askers, reply];
  return { change: replaced(at.context, invocation, { askers }) };
});

export const replyAgain = on('device.invoke', (at): ActionResult => {
  const ended = endedOf(at)!;
  if (ended.digest !== digestOf(at.event)) return conflict(at);
  return { answers: [{ to: at.event.meta.reply, ...outcomeOf(ended) }] };
});

const conflict = (at: ArgsOf<'device.invoke'>): ActionResult =>
  refuse(
    at,
    'CONFLICT',
    `the key ${at.event.id} was used for another command or other parameters: ` +
      'give each command a key of its own',
  );

export const begin = on('device.invoke', (at): ActionResult => {
  const { context, event } = at;
  const problem = problemOf(at);
  if (problem !== undefined)
    return refuse(at, 'INVALID_ARGUMENT', `the command cannot be invoked: ${problem}`);
  const invoke = at.event;
  const { id, command, timeoutMs, sessionKey } = invoke;
  const { code, message, details } = refusalOf(context, command) ?? busy(context, invoke) ?? {};
  if (code !== undefined) return refuse(at, code, message!, details);
  const now = nowOf(at.event);
  const invocation: Invocation = {
    id,
    command,
    paramsJson: unvouched(invoke),
    digest: digestOf(invoke),
    ...(sessionKey === undefined ? {} : { sessionKey }),
    deadline: now + timeoutMs,
    askers: event.meta.reply ? [event.meta.reply] : [],
    connId: null,
    tellings: 0,
    toldAt: now,
    taken: false,
    touched: false,
  };
  return deliverPending({ ...context, invocations: [...context.invocations, invocation] }, now);
});

const busy = (
  { invocations, deviceId }: DeviceContext,
  { paramsJson }: DeviceInvoke,
): ErrorData | undefined => {
  const waiting = charactersOf(invocations.map((one) => one.paramsJson));
  return invocations.length >= INVOCATIONS_MAX ||
    waiting + paramsJson.length > PENDING_CHARACTERS_MAX
    ? {
        code: 'RATE_LIMIT_EXCEEDED',
        message: `device ${deviceId} has ${invocations.length} commands to answer: wait for some of them`,
        details: { outcome: 'none' },
      }
    : undefined;
};
const charactersOf = (texts: readonly string[]): number =>
  texts.reduce((sum, { length }) => sum + length, 0);

// ---- acceptance by the node's gateway

/** Publishes to the current connection the commands that no connection has received yet. */
export const deliverPending = (context: DeviceContext, now: number): ActionResult => {
  const link = context.node?.link ?? null;
  if (link === null) return { change: context };
  const { connId } = link;
  const notices: DeviceNotice[] = [];
  const invocations = context.invocations.map((one) => {
    if (one.connId !== null) return one;
    notices.push(deliver(context, one, connId, now));
    return { ...one, connId, tellings: 1, toldAt: now, taken: false };
  });
  return { change: { ...context, invocations }, notices };
};

const deliver = (
  { deviceId }: DeviceContext,
  { id, command, paramsJson, deadline, sessionKey }: Invocation,
  connId: string,
  now: number,
): DeviceDeliver => ({
  type: 'device.deliver',
  deviceId,
  connId,
  id,
  command,
  paramsJson,
  timeoutMs: Math.max(1, deadline - now),
  ...(sessionKey === undefined ? {} : { sessionKey }),
});

export const take = on('device.taken', (at): ActionResult => {
  const { context } = at;
  const { id, connId } = at.event;
  const invocation = context.invocations.find((one) => one.id === id);
  if (invocation === undefined || invocation.connId !== connId)
    return { answers: [answer(at, { taken: false })] };
  const paramsJson = context.node?.replays ? invocation.paramsJson : '';
  const change = replaced(context, invocation, { taken: true, touched: true, paramsJson });
  return { change, answers: [answer(at, { taken: true })] };
});

const replaced = (
  { invocations }: DeviceContext,
  invocation: Invocation,
  change: Partial<Invocation>,
): Partial<DeviceContext> => ({
  invocations: invocations.map((one) => (one === invocation ? { ...one, ...change } : one)),
});

// ---- answers of the node

/**
 * Also accepts an answer over an older connection, or before the acceptance, or without a waiting
 * caller.
 */
export const onResult = on('device.result', (at): ActionResult => {
  const { context } = at;
  const { id, connId } = at.event;
  const outcome = saidIn(at);
  const pending = context.invocations.find((one) => one.id === id);
  if (pending && (pending.touched || pending.connId === connId)) {
    const known = { ...pending, touched: true };
    const { change, answers = [] } = over(context, known, outcome, {
      at: nowOf(at.event),
      said: true,
    });
    return { change: change!, answers: [...answers, answer(at, { taken: true })] };
  }
  const unknown = context.ended.find((one) => one.id === id && !one.answered);
  if (unknown === undefined) return { answers: [answer(at, { taken: false })] };
  const { error: _, ...rest } = unknown;
  const ended = context.ended.map((one) =>
    one === unknown ? { ...rest, ...outcome, answered: true } : one,
  );
  return { change: { ended: bounded(ended) }, answers: [answer(at, { taken: true })] };
});

type Outcome = { readonly payload: Payload | null } | { readonly error: ErrorData };
const saidIn = (at: ArgsOf<'device.result'>): Outcome => {
  const { payload = null, error } = at.event;
  if (error) return { error };
  const isLong = payload && 'json' in payload && payload.json.length > PAYLOAD_CHARACTERS_MAX;
  return isLong ? { error: TOO_LONG } : { payload };
};
const TOO_LONG: ErrorData = {
  code: 'PAYLOAD_TOO_LARGE',
  message: `the node's answer has more than ${PAYLOAD_CHARACTERS_MAX} characters and is not a file`,
};

const outcomeOf = ({ payload = null, error }: Partial<Ended>): Omit<Reply, 'to'> =>
  error ? { error } : { result: { payload } };

// ---- ends

/**
 * Ends an invocation and answers its caller. A command that certainly never reached the node is not
 * stored.
 */
const over = (
  context: DeviceContext,
  invocation: Invocation,
  outcome: Outcome,
  { at, said }: { readonly at: number; readonly said: boolean },
): ActionResult => {
  const { id, digest, askers, touched } = invocation;
  const one: Ended = { id, digest, endedAt: at, answered: said, ...outcome };
  const ended = touched ? bounded([...context.ended, one]) : context.ended;
  const invocations = context.invocations.filter((other) => other.id !== id);
  return {
    change: { ...context, invocations, ended },
    answers: askers.map((to) => ({ to, ...outcomeOf(one) })),
  };
};

/** Keeps the newest outcomes; those beyond the size bound lose their answers. */
const bounded = (ended: readonly Ended[]): readonly Ended[] => {
  let characters = 0;
  return ended
    .slice(-INVOCATIONS_KEPT)
    .toReversed()
    .map((one) => {
      characters += sizeOf(one);
      return characters > KEPT_CHARACTERS_MAX && one.answered ? withoutAnswer(one) : one;
    })
    .toReversed();
};
const withoutAnswer = ({ payload: _, ...one }: Ended): Ended => ({
  ...one,
  error: {
    code: 'UNAVAILABLE',
    message:
      'the command was answered, and its answer is kept no longer: look before you repeat it',
    details: { outcome: 'done' },
  },
});
const sizeOf = ({ payload, error }: Ended): number =>
  payload && 'json' in payload ? payload.json.length : JSON.stringify(error ?? null).length;

/** Ends these invocations; `details.outcome` states whether each may have been executed. */
const endEach = (
  context: DeviceContext,
  invocations: readonly Invocation[],
  now: number,
  why: (invocation: Invocation) => { readonly code: ErrorCode; readonly message: string },
): ActionResult => {
  const answers: Reply[] = [];
  let rest = context;
  for (const invocation of invocations) {
    const details = { outcome: invocation.touched ? 'unknown' : 'none' };
    const error: ErrorData = { ...why(invocation), details };
    const result = over(rest, invocation, { error }, { at: now, said: false });
    rest = { ...rest, ...result.change };
    answers.push(...result.answers!);
  }
  return { change: rest, answers };
};

/** The device is removed, and everything that waits for it ends. */
export const endAll = (at: ActionArgs, message: string): ActionResult =>
  endEach(at.context, at.context.invocations, nowOf(at.event), () => ({
    code: 'UNAVAILABLE',
    message,
  }));

// ---- ends of connections

/**
 * Handles the commands of a connection that ended without a successor. A node that keeps a record
 * of its commands may be asked again when it reconnects.
 */
export const cutOff = (context: DeviceContext, now: number): ActionResult => {
  const { deviceId, node, invocations } = context;
  const lost = invocations.filter(({ touched }) => !(touched && node?.replays));
  const result = endEach(context, lost, now, ({ touched }) => ({
    code: 'UNAVAILABLE',
    message: touched
      ? `device ${deviceId} left before it answered: it may have carried the command out`
      : `device ${deviceId} left before it was given the command: try again when it is back`,
  }));
  return { ...result, change: loosened({ ...context, ...result.change }) };
};

const loosened = (context: DeviceContext): DeviceContext => ({
  ...context,
  invocations: context.invocations.map((one) => ({ ...one, connId: null, taken: false })),
});

/**
 * Another connection replaced the last one: its commands are published to the new one, accepted
 * ones only if both keep records. `replays`: of the new one.
 */
export const comeBack = (context: DeviceContext, now: number, replays: boolean): ActionResult => {
  const { deviceId, node, invocations } = context;
  const mayReplay = replays && (node?.replays ?? false);
  const lost = invocations.filter(({ touched }) => touched && !mayReplay);
  const result = endEach(context, lost, now, () => ({
    code: 'UNAVAILABLE',
    message: `device ${deviceId} left before it answered: it may have carried the command out`,
  }));
  return { ...result, change: loosened({ ...context, ...result.change }) };
};

// ---- time

/**
 * Whether a gateway has ignored so many publications that it must have ended, together with the
 * connection.
 */
export const isLost = (context: DeviceContext, now: number): boolean =>
  context.invocations.some(
    (one) => isUntaken(one) && one.tellings >= DELIVERIES_MAX && againAt(one) <= now,
  );
const isUntaken = ({ connId, taken }: Invocation): boolean => connId !== null && !taken;
const againAt = ({ toldAt }: Invocation): number => toldAt + DELIVER_AGAIN_MS;

/** Ends expired commands, and publishes again the commands that were not accepted. */
export const sweep = (context: DeviceContext, now: number): ActionResult => {
  const late = context.invocations.filter(({ deadline }) => deadline <= now);
  const { change, answers } = endEach(context, late, now, ({ command }) => ({
    code: 'DEADLINE_EXCEEDED',
    message: `device ${context.deviceId} did not answer ${command} in time`,
  }));
  const rest = { ...context, ...change };
  const notices: DeviceNotice[] = late.flatMap((one) => cancel(context, one));
  const invocations = rest.invocations.map((one) => {
    if (!isUntaken(one) || againAt(one) > now || one.tellings >= DELIVERIES_MAX) return one;
    notices.push(deliver(context, one, one.connId!, now));
    return { ...one, tellings: one.tellings + 1, toldAt: now };
  });
  const ended = rest.ended.filter((one) => keptUntil(one) > now);
  return { change: { ...rest, invocations, ended }, answers: answers!, notices };
};
const cancel = ({ deviceId }: DeviceContext, { id, connId }: Invocation): DeviceCancel[] =>
  connId === null ? [] : [{ type: 'device.cancel', deviceId, connId, id }];
const keptUntil = ({ endedAt }: Ended): number => endedAt + INVOCATION_KEPT_MS;

/** The times at which work is due; [] when no command waits. */
export const times = ({ invocations, ended }: DeviceContext): number[] => [
  ...invocations.map(({ deadline }) => deadline),
  ...invocations.filter(isUntaken).map(againAt),
  ...ended.slice(0, 1).map(keptUntil),
];
