/**
 * `operations.run` (extension): calls an operation by its name. `actors.watch` and `actors.unwatch`
 * (extension): the turns of an actor as events. docs/operations.md lists the operations with the
 * scope that each needs.
 */
import { type Static, Type } from '@sinclair/typebox';
import type { ActorTurn } from '../actor-view.ts';
import type { EventArea, MethodArea } from './method.ts';
import { AnyObject, closed, Count, NonEmpty, Optional } from './shapes.ts';

/** Actors that one connection may watch. */
export const ACTORS_WATCHED_MAX = 64;

export const OperationsRunParams = Type.Object(
  {
    /** as `approvals.answer` */
    name: NonEmpty,
    /** those of the operation, without `tenant`; default none */
    params: Optional(AnyObject),
    /** default: the client's own; clients of another tenant than `default` may name no other */
    tenant: Optional(NonEmpty),
    /** a repeat within 24 hours receives the first answer, where the operation supports it */
    idempotencyKey: Optional(Type.String({ minLength: 1, maxLength: 200 })),
  },
  closed,
);
export type OperationsRunParams = Static<typeof OperationsRunParams>;

/** `actor`: its address, tenant/type/key */
export const ActorsWatchParams = Type.Object({ actor: NonEmpty }, closed);
export type ActorsWatchParams = Static<typeof ActorsWatchParams>;

const Watched = Type.Object({ actor: NonEmpty, watched: Type.Boolean() }, closed);

/**
 * `operations.run` has the least scope of all operations here; the operation that a request names
 * determines the one that it needs.
 */
export const operationMethods = {
  'operations.run': {
    params: OperationsRunParams,
    result: AnyObject,
    scope: 'operator.read',
  },
  'actors.watch': { params: ActorsWatchParams, result: Watched, scope: 'operator.read' },
  'actors.unwatch': { params: ActorsWatchParams, result: Watched, scope: 'operator.read' },
} as const satisfies MethodArea;

/**
 * One committed turn of a watched actor. `missed`: turns before it that were not sent, because the
 * client read too slowly. `ended`: why no more turns follow; then `turn` is absent.
 */
export const ActorTurnEvent = Type.Object(
  {
    actor: NonEmpty,
    turn: Optional(Type.Unsafe<ActorTurn>({ type: 'object' })),
    missed: Optional(Count),
    ended: Optional(NonEmpty),
  },
  closed,
);
export type ActorTurnEvent = Static<typeof ActorTurnEvent>;

export const operationEvents = { 'actor.turn': ActorTurnEvent } as const satisfies EventArea;
