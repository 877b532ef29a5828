/**
 * Which messages a process accepts in read-only mode: those that end, delete, decide or connect,
 * and everything that belongs to work that was accepted before. Pure.
 */
import { type Address, parseAddress } from '../../protocols/address.ts';
import type { Message } from '../../protocols/statechart.ts';
import type { SendOptions } from '../../runtime/index.ts';

/** Actors of these types start new work by their timers. */
const STARTING_WORK: ReadonlySet<string> = new Set(['schedule']);

/** A schedule fires after read-only mode, by its rule for missed times. */
export const startsWork = (actor: Address): boolean => STARTING_WORK.has(parseAddress(actor).type);

/** Types of messages that free space, or that operators and connections need meanwhile. */
const ACCEPTED: ReadonlySet<string> = new Set([
  'approval.answer',
  'audit.note',
  'channel.configure',
  'channel.connected',
  'channel.observed',
  'channel.position',
  'channel.restart',
  'channel.revoke',
  'chat.outcome',
  'conversation.end',
  'device.ack',
  'device.drain',
  'device.offline',
  'device.online',
  'device.reject',
  'device.remove',
  'device.result',
  'device.revoke',
  'device.taken',
  'erasure.request',
  'hold.release',
  'hold.set',
  'keyring.revoke',
  'push.remove',
  'retention.configure',
  'retention.sweep',
  'root.drain',
  'root.start',
  'schedule.get',
  'schedule.remove',
  'schedule.runs',
  'session.abort',
  'session.close',
  'session.expire',
  'session.reset',
  'session.set',
  'settings.change',
  'subagent.kill',
  'task.cancel',
  'task.decide',
]);

export const isAcceptedReadOnly = (
  { type }: Message,
  { lane, continues }: Pick<SendOptions, 'lane' | 'continues'>,
): boolean =>
  continues === true || lane === 'control' || type.startsWith('sys.') || ACCEPTED.has(type);
