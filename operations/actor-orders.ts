/**
 * What operators order single actors to do: directives, which the runtime executes and the machine
 * does not see, and messages by hand. The actor's shard applies them in order; a directive
 * overtakes waiting messages.
 */
import { type TString, Type } from '@sinclair/typebox';
import { defined } from '../protocols/defined.ts';
import { TroupeError } from '../protocols/errors.ts';
import type { Directive } from '../protocols/supervision.ts';
import { actorOf } from './actor-of.ts';
import { askActor } from './ask-actor.ts';
import { defineOperation, type Operation } from './operation.ts';

const BODY_BYTES_MAX = 262_144;
const Actor = Type.String({ description: 'Address: tenant/type/key' });
const Why = Type.String({
  minLength: 1,
  maxLength: 1_024,
  description: 'The reason, which the actor shows',
});
const Status = Type.Object({ status: Type.String({ description: 'Status of the actor now' }) });

type Order = {
  readonly name: string;
  readonly directive: Directive;
  readonly summary: string;
  readonly done: string;
};

const ORDERS: readonly Order[] = [
  {
    name: 'resume',
    directive: 'sys.resume',
    summary: 'Let a paused, suspended or quarantined actor continue from its last committed state',
    done: 'continues',
  },
  {
    name: 'restart',
    directive: 'sys.restart',
    summary: 'Reset an actor to its first state; its state, effects and timers are dropped',
    done: 'is in its first state',
  },
  {
    name: 'stop',
    directive: 'sys.stop',
    summary: 'Stop an actor: it drops its effects and timers, and refuses messages',
    done: 'is stopped',
  },
];

/** What all orders share: they are sent to an actor, and answered with its status. */
const requestOf = ({ name, summary }: Pick<Order, 'name' | 'summary'>) =>
  ({
    name: `actors.${name}`,
    scope: 'tenant',
    summary,
    result: Status,
    errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'CONFLICT', 'DEADLINE_EXCEEDED'],
    http: {
      method: 'POST',
      path: `/v1/actors/{actor}/${name}`,
      operationId: `${name}Actor`,
      responses: { 200: 'Its status now' },
    },
  }) as const;

const orderOf = ({ name, directive, summary, done }: Order) =>
  defineOperation({
    ...requestOf({ name, summary }),
    params: Type.Object({ actor: Actor }),
    cli: {
      command: `actors ${name}`,
      args: ['actor'],
      connection: 'websocket',
      examples: [`troupe actors ${name} default/session/agent:main:main`],
      print: ({ status }, { actor }) => `${actor} ${done}: ${status}\n`,
    },
    run: (context, { actor }) => direct(context, actor, { type: directive }),
  });

type Halt = Omit<Order, 'done'> & { readonly example: string };

/** Orders that halt an actor, with a reason that it shows. */
const HALTS: readonly Halt[] = [
  {
    name: 'pause',
    directive: 'sys.pause',
    summary: 'Pause an actor: messages, outcomes and timers wait in order until it is resumed',
    example: 'its tool is being repaired',
  },
  {
    name: 'quarantine',
    directive: 'sys.quarantine',
    summary: 'Quarantine an actor: it keeps its state, and new messages become dead letters',
    example: 'it repeats a message',
  },
];

const haltOf = ({ name, directive, summary, example }: Halt) =>
  defineOperation({
    ...requestOf({ name, summary }),
    params: Type.Object({ actor: Actor, why: Why }),
    cli: {
      command: `actors ${name}`,
      args: ['actor'],
      connection: 'websocket',
      flags: { why: '--why <text>' },
      examples: [`troupe actors ${name} default/session/agent:main:main --why '${example}'`],
      print: (_, { actor }) => `${actor} is ${name}d\n`,
    },
    run: (context, { actor, why }) => direct(context, actor, { type: directive, why }),
  });

const direct = (
  context: Parameters<Operation['run']>[0],
  actor: string,
  message: { readonly type: Directive; readonly why?: string },
): Promise<{ status: string }> =>
  askActor<{ status: string }>(context, actorOf(context.tenant, actor), message, {
    name: `actor ${actor}`,
    lane: 'control',
  });

const eraseHistory = defineOperation({
  name: 'actors.eraseHistory',
  scope: 'tenant',
  summary: 'Erase the history of an actor: its turns up to now; its state is not changed',
  params: Type.Object({ actor: Actor }),
  result: Status,
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'DEADLINE_EXCEEDED'],
  http: {
    method: 'POST',
    path: '/v1/actors/{actor}/history/erase',
    operationId: 'eraseActorHistory',
    responses: { 200: 'Erased' },
  },
  cli: {
    command: 'actors erase-history',
    args: ['actor'],
    connection: 'websocket',
    examples: ['troupe actors erase-history default/session/agent:main:main'],
    print: (_, { actor }) => `the history of ${actor} is erased\n`,
  },
  run: (context, { actor }) => direct(context, actor, { type: 'sys.eraseHistory' }),
});

/** Names and places of events, as machines define them. */
const EventType: TString = Type.String({
  pattern: '^[a-z][A-Za-z0-9_]*(\\.[A-Za-z0-9_]+)*$',
  maxLength: 128,
  description: 'Type of the event, as `session.abort`; `accepts` of the actor lists them',
});

const send = defineOperation({
  name: 'actors.send',
  scope: 'tenant',
  summary: 'Send an event to an actor by hand; its machine decides what it does',
  params: Type.Object({
    actor: Actor,
    type: EventType,
    fields: Type.Optional(
      Type.Unknown({ description: 'Other fields of the event, a JSON object; default none' }),
    ),
  }),
  result: Type.Object({ id: Type.String({ description: 'Id of the stored message' }) }),
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'UNAVAILABLE'],
  http: {
    method: 'POST',
    path: '/v1/actors/{actor}/events',
    operationId: 'sendToActor',
    responses: { 200: 'Stored: it will be applied once, refused, or become a dead letter' },
    bodyBytesMax: BODY_BYTES_MAX,
    isKeyed: true,
  },
  cli: {
    command: 'actors send',
    args: ['actor', 'type'],
    connection: 'websocket',
    flags: { fields: '--fields <json>' },
    examples: [
      'troupe actors send default/session/agent:main:main session.abort',
      `troupe actors send default/approval/r8.call_1 approval.answer --fields '{"decision":"deny"}'`,
    ],
    print: ({ id }, { actor }) => `stored for ${actor} as ${id}\n`,
  },
  async run({ system, tenant, caller, idempotencyKey }, { actor, type, fields = {} }) {
    const to = actorOf(tenant, actor);
    if (!isObject(fields)) throw invalid('/fields must be a JSON object');
    if ('type' in fields || 'meta' in fields) throw invalid('/fields may not name type or meta');
    if (/^(sys|xstate|supervision)\./.test(type))
      throw invalid(`/type: ${type} is reserved for the runtime: use actors.resume and the like`);
    // A message would create the actor.
    if (!(await system.actors.get(to)))
      throw new TroupeError('NOT_FOUND', `actor ${actor} does not exist`);
    const principal = { sub: caller.sub, roles: ['operator'] };
    const options = { principal, ...defined({ key: idempotencyKey }) };
    const answer = await system.tell(to, { ...fields, type }, options);
    if (answer.kind === 'accepted') return { id: answer.id };
    throw new TroupeError(answer.error.code, answer.error.message);
  },
});

const invalid = (what: string) => new TroupeError('INVALID_ARGUMENT', what);
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const actorOrders: readonly Operation[] = [
  ...ORDERS.map(orderOf),
  ...HALTS.map(haltOf),
  eraseHistory,
  send,
];
