/**
 * Crash: handles an actor whose turn threw, or whose input ended the process before (rules K). The
 * turn is rolled back, its message becomes a dead letter, and the sender receives an error. The
 * actor is `suspended` until its supervisor sends a directive; its mail waits. Turns are never
 * retried.
 *
 * Directives are messages of type `sys.*` from the actor's supervisor or an operator. The host
 * executes them; the machine does not see them. A paused actor is `suspended`, too, so that older
 * versions keep its mail waiting; the reason in its row tells the two apart.
 */
import { type ErrorData, errorData } from '../../../protocols/errors.ts';
import type { Message } from '../../../protocols/statechart.ts';
import { DIRECTIVES, type Directive, type Down, PAUSED } from '../../../protocols/supervision.ts';
import { eraseActor } from './erase-actor.ts';
import { executeRequests, dropPending } from './requests.ts';
import { storableError } from './validate-message.ts';
import type { Verdict } from '../commit/group.ts';
import type { OutItem } from '../commit/records.ts';
import { initialStateOf } from './activated-actors.ts';
import { isPaused } from './actor-row.ts';
import {
  deadLetter,
  outId,
  refuse,
  reply,
  rollBack,
  type ActivatedActor,
  sendTo,
  tellSender,
  type TurnContext,
  verdict,
} from './turn-context.ts';

/** Without a supervisor an actor that crashed this often within the period is quarantined. */
const UNSUPERVISED = { crashesMax: 3, periodMs: 60_000 };
const CRASHES_KEPT = 10;

export const isDirective = (type: string): type is Directive =>
  (DIRECTIVES as readonly string[]).includes(type);

/** Ends a turn that threw: the actor keeps its last committed state. */
export function crash(
  t: TurnContext,
  resident: ActivatedActor,
  event: Message,
  item: OutItem | undefined,
  thrown: ErrorData,
  poison = false,
): Verdict {
  const error = storableError(thrown);
  const crashes = [...resident.actor.crashes, t.group.now].slice(-CRASHES_KEPT);
  const { status, supervisor } = afterCrash(t, resident, crashes);
  resident.actor = { ...resident.actor, status, crashes, why: error };
  t.residents.save(t, resident);
  const letter = item ?? { to: resident.address, id: outId(t), event: bare(event), hops: 0 };
  deadLetter(t, letter, poison ? 'POISON' : 'CRASHED', error);
  if (item)
    tellSender(t, item, {
      code: 'INTERNAL',
      message: `${resident.address} failed on ${item.event.type}: ${error.message}`,
    });
  if (status === 'suspended' && supervisor) {
    const down: Down = {
      type: 'supervision.down',
      child: resident.address,
      error,
      crashes: crashes.length,
      at: t.group.now,
      poison,
    };
    sendTo(t, { to: supervisor, id: outId(t), event: down, from: resident.address, hops: 0 });
  }
  t.draft.unstash = resident.address;
  return verdict(resident, poison ? 'poison' : 'crashed', error.message);
}

/** An actor that is out of service stays so: only an input that is found guilty late gets here. */
function afterCrash(t: TurnContext, resident: ActivatedActor, crashes: readonly number[]) {
  if (resident.actor.status !== 'active') return { status: resident.actor.status };
  const policy = resident.definition.supervision.onThrow;
  const supervisor = resident.actor.supervisor ?? t.world.supervisor;
  if (policy === 'resume') return { status: 'active' as const };
  if (policy === 'quarantine') return { status: 'quarantined' as const };
  if (supervisor && supervisor !== resident.address)
    return { status: 'suspended' as const, supervisor };
  const recent = crashes.filter((at) => at > t.group.now - UNSUPERVISED.periodMs);
  return {
    status:
      recent.length >= UNSUPERVISED.crashesMax ? ('quarantined' as const) : ('active' as const),
  };
}

const bare = ({ meta: _, ...event }: Message): Message => event;

/** Executes a directive of a supervisor or an operator. */
export function onDirective(t: TurnContext, resident: ActivatedActor, item: OutItem): Verdict {
  if (!mayDirect(t, resident, item)) {
    return refuse(t, item, {
      result: 'refused',
      code: 'FORBIDDEN',
      message: `only the supervisor of ${item.to} or an operator may send ${item.event.type}`,
      resident,
    });
  }
  if (item.event.type === 'sys.erase') return eraseActor(t, resident, item);
  if (resident.unsaved)
    return refuse(t, item, {
      result: 'refused',
      code: 'NOT_FOUND',
      message: `${item.to} does not exist`,
      resident,
    });
  if (resident.actor.status === 'stopped' && item.event.type === 'sys.resume')
    return refuse(t, item, {
      result: 'refused',
      code: 'CONFLICT',
      message: `${item.to} was stopped, and what it waited for is gone: send sys.restart`,
      resident,
    });
  // Only an operator ends what an operator began.
  if (item.event.type === 'sys.resume' && item.from && isPaused(resident.actor))
    return afterDirective(t, resident, item);
  const { status } = resident.actor;
  if (item.event.type === 'sys.pause' && status !== 'active' && !isPaused(resident.actor))
    return refuse(t, item, {
      result: 'refused',
      code: 'CONFLICT',
      message: `${item.to} is ${status} already: only an active actor can be paused`,
      resident,
    });
  const puts = [...t.draft.puts.values()];
  try {
    execute(t, resident, item);
    return afterDirective(t, resident, item);
  } catch (error) {
    rollBack(t, puts);
    t.residents.drop(resident.address);
    const before = t.residents.find(resident.address)!;
    const why = storableError(errorData(error));
    before.actor = { ...before.actor, status: 'quarantined', why };
    t.residents.save(t, before);
    return afterDirective(t, before, item);
  }
}

function afterDirective(t: TurnContext, resident: ActivatedActor, item: OutItem): Verdict {
  const status = isPaused(resident.actor) ? 'paused' : resident.actor.status;
  if (item.reply) reply(t, item.to, item.reply, { result: { status } });
  t.draft.unstash = resident.address;
  return verdict(resident, 'applied', item.event.type);
}

function execute(t: TurnContext, resident: ActivatedActor, item: OutItem): void {
  // The turn itself is what history reads.
  if (item.event.type === 'sys.eraseHistory') return;
  const { why: _, ...actor } = resident.actor;
  switch (item.event.type as Exclude<Directive, 'sys.eraseHistory' | 'sys.erase'>) {
    case 'sys.resume':
      resident.actor = { ...actor, status: 'active' };
      break;
    case 'sys.restart':
      return restart(t, resident, item);
    case 'sys.stop':
      dropPending(t, resident);
      resident.live = { ...resident.live, jobs: {}, timers: {} };
      resident.actor = { ...actor, status: 'stopped' };
      break;
    case 'sys.quarantine':
      resident.actor = {
        ...actor,
        status: 'quarantined',
        why: { code: 'INTERNAL', message: reasonOf(item) },
      };
      break;
    case 'sys.pause':
      resident.actor = {
        ...actor,
        status: 'suspended',
        why: { code: 'UNAVAILABLE', message: reasonOf(item), details: { reason: PAUSED } },
      };
      break;
  }
  t.residents.save(t, resident);
}

const reasonOf = ({ event }: OutItem): string =>
  typeof event['why'] === 'string' ? event['why'] : 'by its supervisor';

/** From its first state again; what waited in the old life is closed, the stash stays. */
function restart(t: TurnContext, resident: ActivatedActor, item: OutItem): void {
  dropPending(t, resident);
  const { why: _, ...actor } = resident.actor;
  const { live, requests } = initialStateOf(t, item, resident.definition);
  const staysPaused = item.from !== undefined && isPaused(resident.actor);
  resident.actor = staysPaused
    ? { ...resident.actor, life: t.turnNo }
    : { ...actor, status: 'active', life: t.turnNo };
  resident.live = live;
  executeRequests(t, resident, requests, undefined);
  t.residents.save(t, resident);
}

function mayDirect(t: TurnContext, resident: ActivatedActor, item: OutItem): boolean {
  if (item.from) return item.from === (resident.actor.supervisor ?? t.world.supervisor);
  // Earlier programs accepted a sender without roles: it must not stop the shard.
  const roles: unknown = item.principal?.roles;
  return Array.isArray(roles) && roles.includes('operator');
}
