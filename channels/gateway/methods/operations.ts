/**
 * `operations.run` calls any operation of `operations/`; `actors.watch` and `actors.unwatch` follow
 * the turns of an actor (ActorWatch).
 *
 * Invariants: a client needs the scope of the operation that it names, which is also the action in
 * the audit. Clients of another tenant than the installation's own reach their tenant only, as over
 * HTTP.
 */
import { tenantOfOperation } from '../../../operations/access.ts';
import { actorOf } from '../../../operations/actor-of.ts';
import { type CheckedRun, checkedRun } from '../../../operations/checked-run.ts';
import {
  gatewayScopeOf,
  type LiveConnections,
  type Operation,
  type OperationServices,
} from '../../../operations/operation.ts';
import { isAddress, parseAddress } from '../../../protocols/address.ts';
import { defined } from '../../../protocols/defined.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import type {
  ActorsWatchParams,
  OperationsRunParams,
  RequestFrame,
} from '../../../protocols/gateway/index.ts';
import { LazyValue } from '../../../protocols/lazy-value.ts';
import type { DeviceGuard } from '../auth/device-guard.ts';
import type { ActorWatch } from '../streams/actor-watch.ts';
import type { Presence } from '../tenant/presence.ts';
import type { Connection } from '../transport/connection.ts';
import { connectedDevices } from './devices/devices.ts';
import { type Action, type MethodTable, published } from './method.ts';
import { principalOf, type Request } from './request.ts';

export type OperationMethodContext = {
  readonly tenant: string;
  /** whether the tenant is the installation's own, whose operators administer all tenants */
  readonly isHome: boolean;
  /** undefined when the process was started without them */
  readonly operations: OperationServices | undefined;
  readonly actorWatch: Pick<ActorWatch, 'watch' | 'unwatch'>;
  readonly connections: Iterable<Connection>;
  readonly presence: Pick<Presence, 'entries' | 'peers'>;
  readonly guard: Pick<DeviceGuard, 'spare'>;
};

/** All operations by name, loaded with the first request for one. */
const allOperations = new LazyValue(async (): Promise<ReadonlyMap<string, Operation>> => {
  const { RESOURCES } = await import('../../../operations/index.ts');
  return new Map(
    RESOURCES.flatMap(({ operations }) => operations.map((one) => [one.name, one] as const)),
  );
});

/** Validators are compiled at the first call of an operation. */
const runs = new Map<string, CheckedRun>();
const runOf = (operation: Operation): CheckedRun => {
  const run = runs.get(operation.name) ?? checkedRun(operation);
  runs.set(operation.name, run);
  return run;
};

const runOperation = async (
  request: Request<OperationMethodContext>,
  { name, params = {}, tenant: named, idempotencyKey }: OperationsRunParams,
): Promise<unknown> => {
  const operation = (await allOperations.get()).get(name);
  if (!operation)
    throw new TroupeError('INVALID_ARGUMENT', `unknown operation: ${name.slice(0, 200)}`);
  const tenant = tenantOfOperation(operation, request.context, named);
  const { sub } = principalOf(request);
  // A device that changes its own rights still receives the answer.
  if (operation.name.startsWith('devices.') && request.connection.client?.deviceId !== undefined)
    request.context.guard.spare(request.connection);
  // Presence is that of the client's own tenant.
  const live = tenant === request.context.tenant ? liveConnections(request.context) : undefined;
  const key = operation.http.isKeyed ? { idempotencyKey } : {};
  const services = servicesOf(request.context);
  const context = { ...services, tenant, caller: { sub }, ...defined({ ...key, live }) };
  return runOf(operation)(context, params);
};

/** As presence reports them. */
const liveConnections = (context: OperationMethodContext): LiveConnections => {
  let connected: ReadonlySet<string> | undefined;
  return {
    isConnected: (deviceId) => (connected ??= connectedDevices(context)).has(deviceId),
    isAlive: (gateway) => context.presence.peers.isAlive(gateway),
  };
};

/** @throws TroupeError UNAVAILABLE when the process was started without them */
const servicesOf = ({ operations }: OperationMethodContext): OperationServices => {
  if (operations) return operations;
  throw new TroupeError('UNAVAILABLE', 'this gateway serves no operations: use another gateway');
};

/** The operation that a request names; undefined for an unknown one. */
const operationAction = async ({ params, ...frame }: RequestFrame): Promise<Action | undefined> => {
  const { name, params: own } = (params ?? {}) as { name?: unknown; params?: unknown };
  const operation = typeof name === 'string' ? (await allOperations.get()).get(name) : undefined;
  return (
    operation && {
      scope: gatewayScopeOf(operation),
      frame: { ...frame, method: operation.name, params: own },
    }
  );
};

const watchActor = async (
  { context, connection }: Request<OperationMethodContext>,
  { actor }: ActorsWatchParams,
) => {
  servicesOf(context);
  await context.actorWatch.watch(connection, reachableActor(context, actor));
  return { actor, watched: true };
};

const unwatchActor = (
  { context, connection }: Request<OperationMethodContext>,
  { actor }: ActorsWatchParams,
) => {
  context.actorWatch.unwatch(connection, reachableActor(context, actor));
  return { actor, watched: false };
};

/** @throws TroupeError INVALID_ARGUMENT, NOT_FOUND for an actor of another tenant */
const reachableActor = ({ tenant, isHome }: OperationMethodContext, actor: string) =>
  actorOf(isHome && isAddress(actor) ? parseAddress(actor).tenant : tenant, actor);

const [runName, runMethod] = published('operations.run', runOperation);

export const operationTable: MethodTable<OperationMethodContext> = [
  [runName, { ...runMethod, actionOf: operationAction }],
  published('actors.watch', watchActor),
  published('actors.unwatch', unwatchActor),
];
