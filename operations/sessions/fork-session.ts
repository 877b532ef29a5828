/**
 * Forks a session at a turn: a new session begins as the other one was after that turn. The new
 * session copies the conversation itself (actors/session/fork.ts), so a request that was accepted
 * is executed once, whatever fails. What it would refuse is checked before, so that nothing is
 * created.
 */
import { createHash, randomBytes } from 'node:crypto';
import { address, isAddress, parseAddress } from '../../protocols/address.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { ForkDone, ForkPoint, SessionFork } from '../../protocols/session-fork.ts';
import { parseSessionKey } from '../../protocols/session-key.ts';
import type { SessionRow } from '../../protocols/session.ts';
import type { System } from '../../runtime/index.ts';
import { actorOf } from '../actor-of.ts';
import { askSession, type ChangingScope, notify } from './change-session.ts';
import { sessionRow } from './find-session.ts';
import { fullSessionKey } from './session-key.ts';

/** Copying a long conversation takes several turns. */
const ANSWER_MS = 60_000;

export type ForkScope = ChangingScope & { readonly system: Pick<System, 'actors'> };

export type ForkParams = {
  /** of the session that is forked, or its address */
  readonly key: string;
  readonly turn: number;
  /** key of the fork; default a new one */
  readonly as?: string;
};

export type Forked = ForkDone & { readonly key: string };

/**
 * @param idempotencyKey a repeated request returns the first fork, also when the other session or
 *   its history is gone by then
 * @throws TroupeError NOT_FOUND without that session or turn; CONFLICT when the fork's key exists;
 *   INVALID_ARGUMENT for an actor that is no session, or a key that a fork cannot have
 */
export async function forkSession(
  scope: ForkScope,
  { key: named, turn, as }: ForkParams,
  idempotencyKey?: string,
): Promise<Forked> {
  const { system, tenant } = scope;
  const from: ForkPoint = { key: sourceKey(scope, named), turn };
  const id = idempotencyKey ?? randomBytes(16).toString('hex');
  const key = forkKey(scope, from, as ?? `fork-${shortHash(`${from.key}\n${turn}\n${id}`)}`);
  const existing = system.index.get<SessionRow>('sessions', tenant, key);
  const isRepeat = idempotencyKey !== undefined && isForkAt(existing, from);
  if (!isRepeat) {
    if (existing) throw new TroupeError('CONFLICT', `the session ${key} exists already`);
    if (!sessionRow(scope, from.key))
      throw new TroupeError('NOT_FOUND', `session ${from.key} does not exist`);
    await system.actors.past(address(tenant, 'session', from.key), turn);
  }
  const message: SessionFork = { type: 'session.fork', from };
  const done = await askSession<ForkDone>(scope, key, message, { timeoutMs: ANSWER_MS, key: id });
  notify(scope, key, 'fork');
  return { key, ...done };
}

/** @throws TroupeError INVALID_ARGUMENT for another actor than a session; NOT_FOUND of a tenant */
function sourceKey(scope: ForkScope, named: string): string {
  if (!isAddress(named)) return sessionRow(scope, named)?.sessionKey ?? named;
  const { type, key } = parseAddress(actorOf(scope.tenant, named));
  if (type === 'session') return key;
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `only sessions can be forked, and ${named} is a ${type}`,
  );
}

/** The key of the fork, of the same agent. */
function forkKey({ names }: ForkScope, from: ForkPoint, name: string): string {
  const parts = parseSessionKey(from.key);
  const agent = parts.type === 'other' ? {} : { agentId: parts.agentId };
  const { sessionKey } = fullSessionKey(names, { sessionKey: name, ...agent });
  if (parseSessionKey(sessionKey).type === 'main') return sessionKey;
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `/as: the key of a fork is agent:AGENT:NAME, and ${sessionKey} has another meaning`,
  );
}

const isForkAt = (row: SessionRow | undefined, { key, turn }: ForkPoint): boolean =>
  row?.forkedFrom?.key === key && row.forkedFrom.turn === turn;

const shortHash = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, 12);
