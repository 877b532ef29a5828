/**
 * One turn (rule B): from an input and the actor's state to its next state and requests. It is pure
 * except for reading the fold: it does not wait, start or send anything. Each function returns the
 * verdict on its input, also when the input is refused, expired, stashed or crashed; `writeTurn`
 * writes it (I9).
 */
import { parseAddress } from '../../../protocols/address.ts';
import { type ErrorData, errorData } from '../../../protocols/errors.ts';
import type { Message, Meta } from '../../../protocols/statechart.ts';
import { type Cause, defers, isDone, passivates, step } from '../../statechart/host.ts';
import { executeRequests, LimitExceeded, type Origin } from './requests.ts';
import {
  deadLetter,
  metaOf,
  refuse,
  rollBack,
  verdict,
  type ActivatedActor,
  type TurnContext,
} from './turn-context.ts';
import { crash, isDirective, onDirective } from './crash.ts';
import { storableError } from './validate-message.ts';
import type { Verdict } from '../commit/group.ts';
import type { FoldPut } from '../commit/fold.ts';
import type { OutItem } from '../commit/records.ts';
import { UnreadableRow } from './activated-actors.ts';
import type { Limits } from '../limits.ts';
import { stashMessage, waitingOf } from './stash.ts';

/** A message for an actor, which is created if it does not exist. */
export function onMessage(t: TurnContext, item: OutItem): Verdict {
  if (item.deadline !== undefined && item.deadline < t.group.now) {
    return refuse(t, item, {
      result: 'expired',
      code: 'EXPIRED',
      message: `the message was applied after its deadline ${new Date(item.deadline).toISOString()}`,
    });
  }
  if (item.hops > hopsOf(item, t.world.limits)) {
    return refuse(t, item, {
      result: 'refused',
      code: 'CONFLICT',
      message: `the message has passed ${item.hops} actors, ${t.world.limits.hopsMax} are allowed`,
    });
  }
  const { type } = parseAddress(item.to);
  const definition = t.world.registry.latest(type);
  if (!definition) {
    return refuse(t, item, {
      result: 'refused',
      code: 'NOT_FOUND',
      message: `no actor type '${type}' is registered on this worker`,
    });
  }
  let resident: ActivatedActor | undefined;
  try {
    resident = t.residents.find(item.to);
  } catch (error) {
    if (error instanceof UnreadableRow) return refuseCreation(t, item, error);
    throw error;
  }
  try {
    resident ??= t.residents.create(t, item, definition);
  } catch (error) {
    return refuseCreation(t, item, error);
  }
  if (isDirective(item.event.type)) return onDirective(t, resident, item);
  return admit(t, resident, item);
}

/**
 * A refusal for too many hops must reach the sender, so notices have a few more hops. What the
 * sender sends in response is bounded by the same limit.
 */
const hopsOf = ({ event: { type } }: OutItem, { hopsMax }: Limits): number =>
  type === 'refused' || type === 'reply' ? hopsMax + NOTICE_HOPS : hopsMax;
/** An answer may be one past the limit, the request made of it two, and its refusal three. */
const NOTICE_HOPS = 3;

/** Decides by the status of an existing actor how a message is handled. */
function admit(t: TurnContext, resident: ActivatedActor, item: OutItem): Verdict {
  const { status, why } = resident.actor;
  if (status === 'suspended') return stashMessage(t, resident, item);
  if (status === 'stopped' || isDone(resident.live)) {
    return refuse(t, item, {
      result: 'refused',
      code: 'CONFLICT',
      message: `${item.to} has ended and accepts no more messages`,
      resident,
    });
  }
  if (status === 'quarantined') {
    deadLetter(t, item, 'QUARANTINED', why ?? { code: 'INTERNAL', message: 'quarantined' });
    return refuse(t, item, {
      result: 'refused',
      code: 'UNAVAILABLE',
      message: `${item.to} is quarantined: ${why?.message ?? 'unknown reason'}; the message is in the dead letters`,
      resident,
      kept: true,
    });
  }
  if (!defers(resident.definition.machine, resident.live, item.event.type))
    return applyMessage(t, resident, item);
  return runInitialRequests(t, resident, item) ?? stashMessage(t, resident, item);
}

/** Steps the machine with a message it may take now. */
export function applyMessage(t: TurnContext, resident: ActivatedActor, item: OutItem): Verdict {
  const event = { ...item.event, meta: metaOf(t, item) };
  return applyCause(t, resident, { event }, item);
}

/** Steps the machine; `item` is the message behind it, or absent for outcomes and timers. */
export function applyCause(
  t: TurnContext,
  resident: ActivatedActor,
  cause: Cause,
  item: OutItem | undefined,
): Verdict {
  const made = step(resident.definition.machine, resident.live, cause, t.group.now);
  if (made.outcome === 'failed') {
    return (
      runInitialRequests(t, resident, item) ?? crash(t, resident, cause.event, item, made.error!)
    );
  }
  if (made.outcome === 'stale') {
    keepTaken(t, resident);
    return verdict(resident, 'dropped', 'stale');
  }
  if (made.outcome === 'ignored') return onIgnored(t, resident, item, made.error);
  const undo = { puts: [...t.draft.puts.values()], actor: resident.actor };
  try {
    resident.live = made.live;
    executeRequests(t, resident, made.requests, item ?? originOf(cause));
    keepActor(t, resident, 'saveLate');
    checkSize(t);
  } catch (error) {
    return onFailedTurn(t, resident, undo, { event: cause.event, item, error });
  }
  if (resident.actor.stashEnd > resident.actor.stashFirst) t.draft.unstash = resident.address;
  else if (passivates(resident.definition.machine, resident.live))
    t.residents.drop(resident.address);
  return verdict(resident, 'applied');
}

/** Messages caused by an outcome have the trace of the effect. */
function originOf({ event }: Cause): Origin | undefined {
  const { traceId } = (event as { meta?: Meta }).meta ?? {};
  return traceId === undefined ? undefined : { hops: 0, traceId };
}

/** The draft and the machine's surroundings before the step; the input itself is consumed. */
type Undo = { readonly puts: readonly FoldPut[]; readonly actor: ActivatedActor['actor'] };
type Failure = {
  readonly event: Message;
  readonly item: OutItem | undefined;
  readonly error: unknown;
};

/** A turn past a limit is refused to its sender; without a sender the actor crashes. */
function onFailedTurn(
  t: TurnContext,
  resident: ActivatedActor,
  undo: Undo,
  failure: Failure,
): Verdict {
  const { address, definition } = resident;
  const { event, item, error } = failure;
  t.residents.drop(address);
  rollBack(t, undo.puts);
  const before = t.residents.find(address) ?? t.residents.create(t, item!, definition);
  before.actor = undo.actor;
  if (!(error instanceof LimitExceeded && item)) {
    const crashed = () => crash(t, before, event, item, errorData(error));
    return runInitialRequests(t, before, item) ?? crashed();
  }
  keepTaken(t, before);
  const { code, message } = error;
  return refuse(t, item, { result: 'refused', code, message, resident: before });
}

function onIgnored(
  t: TurnContext,
  resident: ActivatedActor,
  item: OutItem | undefined,
  error: ErrorData | undefined,
): Verdict {
  const failed = runInitialRequests(t, resident, item);
  if (failed) return failed;
  keepTaken(t, resident);
  const state = JSON.stringify(resident.live.snapshot.value);
  if (item?.reply) {
    const why = error?.message ?? `state ${state} does not accept ${item.event.type}`;
    return refuse(t, item, {
      result: 'ignored',
      code: error?.code ?? 'CONFLICT',
      message: `${resident.address}: ${why}`,
      resident,
    });
  }
  if (resident.unsaved) t.residents.drop(resident.address);
  return verdict(resident, 'ignored', state);
}

/**
 * Creates an actor whose first message is not applied: the requests of its initial state are
 * executed nevertheless. Returns the refusal of the message if they cannot be.
 */
function runInitialRequests(
  t: TurnContext,
  resident: ActivatedActor,
  item: OutItem | undefined,
): Verdict | undefined {
  if (resident.initialRequests.length === 0) return undefined;
  const puts = [...t.draft.puts.values()];
  try {
    executeRequests(t, resident, [], item);
    t.residents.save(t, resident);
    return undefined;
  } catch (error) {
    rollBack(t, puts);
    return refuseCreation(t, item!, error);
  }
}

/** Writes the stash of the actor, which has changed even if the input has no other effect. */
function keepTaken(t: TurnContext, resident: ActivatedActor): void {
  if (!resident.unsaved && t.draft.puts.size > 0) t.residents.save(t, resident);
}

/**
 * Writes the row of an actor that is active or kept. A finished actor that is not kept is removed
 * when its stash is empty.
 */
export function keepActor(
  t: TurnContext,
  resident: ActivatedActor,
  how: 'save' | 'saveLate' = 'save',
): void {
  const forgets = isDone(resident.live) && resident.definition.whenDone === 'forget';
  if (forgets && waitingOf(t.fold, resident).length === 0) t.residents.forget(t, resident);
  else t.residents[how](t, resident);
}

function checkSize({ draft, world }: TurnContext): void {
  const { turnBytesMax } = world.limits;
  if (draft.bytes <= turnBytesMax) return;
  const message = `the turn writes about ${draft.bytes} bytes, ${turnBytesMax} are allowed`;
  throw new LimitExceeded('PAYLOAD_TOO_LARGE', message);
}

function refuseCreation(t: TurnContext, item: OutItem, error: unknown): Verdict {
  t.residents.drop(item.to);
  const data = storableError(errorData(error));
  deadLetter(t, item, error instanceof UnreadableRow ? 'UNFIT' : 'UNBORN', data);
  const code =
    error instanceof UnreadableRow || error instanceof LimitExceeded ? data.code : 'INTERNAL';
  return refuse(t, item, { result: 'refused', code, message: data.message, kept: true });
}
