/**
 * Requests: turns the requests of a machine into rows and messages of the turn (I5). Invoked
 * effects become intents, delays become timer rows, host actions become messages, answers,
 * transcript entries and index rows. Nothing is executed here: `after` lists what to do after the
 * commit.
 */
import { type Address, isAddress, parseAddress } from '../../../protocols/address.ts';
import { encode } from '../../../protocols/codec.ts';
import { type ErrorCode, isErrorData, TroupeError } from '../../../protocols/errors.ts';
import type {
  Append,
  DeadLetterAsk,
  Project,
  Publish,
  Reply,
  ReplyRef,
  Tell,
} from '../../../protocols/statechart.ts';
import { checkAddress } from '../../state/row.ts';
import type { StepRequest } from '../../statechart/host.ts';
import { sortable } from './actor-row.ts';
import { expiryOf } from './expiry.ts';
import { TABLE } from '../commit/fold.ts';
import {
  checkDomain,
  checkLane,
  checkMessage,
  checkPrincipal,
  checkTtl,
  checkValue,
  storableError,
} from './validate-message.ts';
import { encodeIntent } from './intents.ts';
import type { OutItem } from '../commit/records.ts';
import {
  deadLetter,
  outId,
  reply,
  type ActivatedActor,
  sendTo,
  type TurnContext,
} from './turn-context.ts';

/**
 * A bound of one turn or one actor was passed: the turn is undone and refused to its sender (J1).
 */
export class LimitExceeded extends TroupeError {
  declare readonly code: ErrorCode;
}

/** What a message hands on to those that it causes. */
export type Origin = Pick<OutItem, 'hops' | 'principal' | 'traceId'>;

export const intentId = (actor: Address, life: number, key: string) =>
  `${actor}|${life.toString(36)}.${key}`;
export const timerId = (due: number, actor: Address, life: number, key: string) =>
  `${sortable(due)}|${actor}|${life.toString(36)}.${key}`;

/**
 * Adds the requests of a step, after those of the actor's initial state, to the turn. `origin` is
 * the message that caused them, or what is known of the message before an outcome.
 */
export function executeRequests(
  t: TurnContext,
  resident: ActivatedActor,
  requests: readonly StepRequest[],
  origin: Origin | undefined,
): void {
  const all =
    resident.initialRequests.length > 0 ? [...resident.initialRequests, ...requests] : requests;
  resident.initialRequests = [];
  for (const request of all) executeRequest(t, resident, request, origin);
  checkPending(t, resident);
}

function executeRequest(
  t: TurnContext,
  resident: ActivatedActor,
  request: StepRequest,
  origin: Origin | undefined,
): void {
  const { address, actor } = resident;
  switch (request.kind) {
    case 'start':
      return openIntent(t, resident, request, origin);
    case 'stop':
      return closeIntent(t, intentId(address, actor.life, request.key));
    case 'timer': {
      const id = timerId(request.due, address, actor.life, request.key);
      t.draft.put(TABLE.timer, id, Buffer.from(request.id));
      t.draft.after.push({ kind: 'arm', due: request.due, timer: id });
      return;
    }
    case 'cancel':
      return t.draft.put(TABLE.timer, timerId(request.due, address, actor.life, request.key), null);
    case 'action':
      return act(t, resident, request, origin);
  }
}

function openIntent(
  t: TurnContext,
  resident: ActivatedActor,
  request: Extract<StepRequest, { kind: 'start' }>,
  origin: Origin | undefined,
): void {
  const effect = resident.definition.effects[request.src];
  if (!effect)
    throw new TroupeError(
      'INTERNAL',
      `${resident.actor.machine} requests the effect '${request.src}', which it does not define`,
    );
  checkValue(request.input, `the input of '${request.src}'`);
  const id = intentId(resident.address, resident.actor.life, request.key);
  const row = encodeIntent({
    actor: resident.address,
    machine: resident.actor.machine,
    job: request.id,
    key: request.key,
    src: request.src,
    cls: effect.class,
    state: 'open',
    attempt: 1,
    epoch: 0,
    at: t.group.now,
    input: request.input,
    ...(origin?.traceId ? { traceId: origin.traceId } : {}),
  });
  t.draft.put(TABLE.intent, id, row);
  t.draft.after.push({ kind: 'start', intent: id });
}

/** The machine left the state that waited: the outcome is no longer wanted (G7). */
function closeIntent(t: TurnContext, id: string): void {
  t.draft.put(TABLE.intent, id, null);
  t.draft.after.push({ kind: 'abort', intent: id });
}

function act(
  t: TurnContext,
  resident: ActivatedActor,
  request: Extract<StepRequest, { kind: 'action' }>,
  origin: Origin | undefined,
): void {
  switch (request.type) {
    case 'tell':
      return tell(t, resident, request.params as Tell, origin);
    case 'reply':
      return answer(t, resident, request.params as Reply);
    case 'append':
      return append(t, resident, request.params as Append);
    case 'publish': {
      const { topic, event } = request.params as Publish;
      if (typeof topic !== 'string' || topic === '')
        throw invalid(
          `${resident.address} publishes to ${JSON.stringify(topic)}, which is not a topic`,
        );
      checkValue(event, `what is published to ${topic}`);
      t.draft.after.push({ kind: 'publish', topic, event });
      return;
    }
    case 'project':
      return project(t, resident, request.params as Project);
    case 'deadLetter':
      return abandon(t, resident, request.params as DeadLetterAsk, origin);
  }
}

function project(
  t: TurnContext,
  { address }: ActivatedActor,
  { index, key, value, keepMs }: Project,
): void {
  const { tenant } = parseAddress(address);
  const row = [`ix:${index}`, `${tenant}|${key}`] as const;
  checkAddress(t.world.shard, ...row);
  checkValue(value, `the row ${key} of ${index}`);
  t.draft.put(...row, value === null ? null : encode(value));
  if (keepMs !== undefined) t.draft.put(...expiryOf(...row, t.group.now + keepMs));
}

function answer(t: TurnContext, resident: ActivatedActor, { to, result, error }: Reply): void {
  if (!to) return;
  checkRef(to);
  checkValue(error ?? result, 'the answer');
  reply(t, resident.address, to, error ? { error } : { result });
}

/** Machines keep it and hand it back; one that they made up must not reach a mailbox. */
function checkRef({ id, actor, hops = 0 }: ReplyRef): void {
  if (typeof id === 'string' && (actor === undefined || isAddress(actor)) && Number.isInteger(hops))
    return;
  throw invalid('the reply reference does not belong to a received message');
}

function append(t: TurnContext, { address: to }: ActivatedActor, { entries }: Append): void {
  for (const entry of entries) {
    checkValue(entry, 'the transcript entry');
    const event = { type: 'append', at: t.group.now, entry };
    t.draft.send('transcript', 'data', { to, id: outId(t), event, hops: 0 });
  }
}

function tell(t: TurnContext, resident: ActivatedActor, p: Tell, origin: Origin | undefined): void {
  if (!isAddress(p.to))
    throw invalid(
      `${resident.address} sends a message to ${JSON.stringify(p.to)}, which is not an address`,
    );
  checkMessage(p.event);
  checkLane(p.lane);
  checkTtl(p.ttlMs);
  // Earlier programs accepted odd ones, which are passed on.
  if (p.principal && p.principal !== origin?.principal) checkPrincipal(p.principal);
  checkRoom(t);
  const id = outId(t);
  const out: { -readonly [K in keyof OutItem]: OutItem[K] } = {
    to: p.to,
    id,
    event: p.event,
    from: resident.address,
    hops: (origin?.hops ?? 0) + 1,
  };
  if (p.ask) out.reply = { id, actor: resident.address, hops: out.hops };
  if (p.ttlMs !== undefined) out.deadline = t.group.now + p.ttlMs;
  if (p.supervise) out.supervise = true;
  const principal = p.principal ?? origin?.principal;
  if (principal) out.principal = principal;
  if (origin?.traceId) out.traceId = origin.traceId;
  sendTo(t, out, p.lane);
}

const REASON_CHARACTERS_MAX = 64;

/** A message that the machine gives up becomes a dead letter of its domain. */
function abandon(
  t: TurnContext,
  { address: from }: ActivatedActor,
  { domain, reason, error, to, event }: DeadLetterAsk,
  origin: Origin | undefined,
): void {
  checkDomain(domain);
  if (!isAddress(to))
    throw invalid(`${from} gives up a message to ${JSON.stringify(to)}, which is not an address`);
  checkMessage(event);
  if (typeof reason !== 'string' || reason === '' || reason.length > REASON_CHARACTERS_MAX)
    throw invalid(`the reason of a dead letter must have 1 to ${REASON_CHARACTERS_MAX} characters`);
  if (!isErrorData(error)) throw invalid('a dead letter has an error of the taxonomy');
  checkRoom(t);
  const letter: OutItem = {
    to,
    id: outId(t),
    event,
    from,
    hops: 0,
    ...(origin?.traceId ? { traceId: origin.traceId } : {}),
  };
  const storable = storableError(error);
  deadLetter(t, letter, reason, storable, domain);
  t.draft.after.push({ kind: 'abandoned', letter: { domain, reason, error: storable, to, event } });
}

function checkRoom({ draft, world }: TurnContext): void {
  const { outMax } = world.limits;
  if (draft.out.length < outMax) return;
  throw new LimitExceeded('RATE_LIMIT_EXCEEDED', `the turn sends more than ${outMax} messages`);
}

/** Closes everything the actor waits for: it ended, was stopped, or starts again. */
export function dropPending(t: TurnContext, resident: ActivatedActor): void {
  const { address, actor, live } = resident;
  for (const job of Object.values(live.jobs))
    if (!job.settled) closeIntent(t, intentId(address, actor.life, job.key));
  for (const timer of Object.values(live.timers))
    t.draft.put(TABLE.timer, timerId(timer.due, address, actor.life, timer.key), null);
}

function checkPending(t: TurnContext, resident: ActivatedActor): void {
  const { pendingMax } = t.world.limits;
  const { jobs, timers } = resident.live;
  for (const [what, rows] of [
    ['open effects', jobs],
    ['armed timers', timers],
  ] as const) {
    if (Object.keys(rows).length > pendingMax)
      throw new LimitExceeded(
        'RATE_LIMIT_EXCEEDED',
        `${resident.address} has more than ${pendingMax} ${what}`,
      );
  }
}

const invalid = (message: string) => new TroupeError('INVALID_ARGUMENT', message);
