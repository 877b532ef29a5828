/** The events that a device can receive, and the invariants that hold on every path. */
import { deviceMachine } from '../../../actors/device/machine.ts';
import type { DeviceContext } from '../../../actors/device/types.ts';
import { address } from '../../../protocols/address.ts';
import {
  type DeviceAsk,
  type DeviceChanged,
  deviceAddress,
  deviceIdOf,
  type DeviceNotice,
  type DeviceOnline,
  type DeviceRow,
} from '../../../protocols/device.ts';
import type { Message, Project, Publish, Reply } from '../../../protocols/statechart.ts';
import {
  demand,
  type Exploration,
  type Happened,
  type Move,
  requestsOf,
} from '../../charts/coverage.ts';

export const operator = { sub: 'ada', roles: ['operator'] };
const guest = { sub: 'eve', roles: ['user'] };
const agent = address('default', 'agent', 'main');

export const publicKey = Buffer.alloc(32, 7).toString('base64url');
export const deviceId = deviceIdOf(publicKey);
const face = { name: 'phone', platform: 'linux', deviceFamily: 'Linux' };

export const asks = (changes: Partial<DeviceAsk> = {}): DeviceAsk => ({
  type: 'device.ask',
  publicKey,
  role: 'node',
  scopes: [],
  face,
  ...changes,
});
export const online = (changes: Partial<DeviceOnline> = {}): DeviceOnline => ({
  type: 'device.online',
  gateway: 'g1',
  connId: 'c1',
  surface: {
    caps: ['camera'],
    commands: [{ name: 'camera.snap' }],
    permissions: { screen: 'denied' },
  },
  face,
  ...changes,
});
const wider = (connId: string): DeviceOnline =>
  online({
    connId,
    surface: {
      caps: ['camera', 'screen'],
      commands: [{ name: 'camera.snap' }, { name: 'screen.record' }],
      permissions: { screen: 'denied' },
    },
  });
const invokes = (id: string, changes: Message | object = {}): Message => ({
  type: 'device.invoke',
  id,
  command: 'camera.snap',
  paramsJson: '{}',
  timeoutMs: 4_500,
  ...changes,
});

/** The replies to callers, and the obligations that follow from them. */
class Promised {
  /** by message without a reply, the invocation that it is about */
  owed = new Map<string, string>();
  /** invocations that ended before they reached the node */
  never = new Set<string>();
  row: DeviceRow | null = null;
  /** connections on which the node received its commands, in order */
  offline = 0;

  copy(): Promised {
    return Object.assign(new Promised(), this, {
      owed: new Map(this.owed),
      never: new Set(this.never),
    });
  }

  take({ cause, meta, step }: Happened): void {
    const { event } = cause;
    const context = step.live.snapshot.context as DeviceContext;
    const replies = requestsOf<Reply>(step.requests, 'reply');
    this.#invoked(event, meta.id, replies);
    const pending = context.invocations.flatMap(({ askers }) => askers.map(({ id }) => id));
    const isDone = step.live.snapshot.status === 'done';
    if (!isDone) this.#trust(event, meta, context);
    for (const { value } of requestsOf<Project>(step.requests, 'project'))
      this.row = value as DeviceRow;
    if (!isDone) demand([...this.owed.keys()].toSorted()).toEqual(pending.toSorted());
    else demand(this.owed.size, 'every caller is answered before the actor ends').toBe(0);
    this.#notices(requestsOf<Publish>(step.requests, 'publish'), context);
    this.#bounds(context);
  }

  /** Each request is answered once, immediately or later. */
  #invoked(event: { type: string }, id: string, replies: readonly Reply[]): void {
    if (event.type === 'device.invoke') this.owed.set(id, (event as unknown as { id: string }).id);
    for (const { to, error, result } of replies) {
      const about = to && this.owed.get(to.id);
      if (about === undefined) {
        if (to?.id !== id) demand.fail(`${to?.id} is answered a second time`);
        if (event.type === 'device.taken' && (result as { taken?: boolean })?.taken)
          demand(
            this.never,
            'a command that was reported as not delivered is not handed over',
          ).not.toContain((event as unknown as { id: string }).id);
        continue;
      }
      this.owed.delete(to!.id);
      const outcome = error?.details?.['outcome'];
      if (outcome === 'none') this.never.add(about);
      else this.never.delete(about);
    }
    for (const about of this.owed.values()) this.never.delete(about);
  }

  /** Only an operator approves a role, or an entry point the first one. */
  #trust(event: Message, meta: Happened['meta'], context: DeviceContext): void {
    const before = this.row?.roles ?? {};
    for (const role of ['operator', 'node'] as const) {
      const more = context.roles[role]?.scopes.length ?? -1;
      if (more === (before[role]?.scopes.length ?? -1)) continue;
      demand(more, 'no scope is removed').toBeGreaterThan(before[role]?.scopes.length ?? -1);
      if (event.type === 'device.approve') {
        demand(meta.principal).toBe(operator);
        demand(meta.from).toBeUndefined();
      } else {
        demand(event['approved'], 'an entry point approves the first role').toBe(true);
        demand(before).toEqual({});
      }
    }
  }

  #notices(published: readonly Publish[], context: DeviceContext): void {
    for (const { event } of published) {
      const notice = event as unknown as DeviceNotice;
      if (notice.type === 'device.changed') this.#changed(notice);
      if (notice.type !== 'device.deliver') continue;
      demand(notice.connId, 'sent to the connection of the node').toBe(
        context.node?.link?.connId ?? notice.connId,
      );
      demand(context.node?.approved).toContain(notice.command);
      demand(notice.paramsJson, 'with its parameters').not.toBe('');
    }
  }
  #changed({ what }: DeviceChanged): void {
    if (what === 'removed') demand(this.row).toBeNull();
  }

  #bounds({ requests, node, roles }: DeviceContext): void {
    demand(new Set(requests.map(({ role }) => role)).size).toBe(requests.length);
    if (node) demand(roles.node).toBeDefined();
  }
}

const byOperator = (name: string, event: Message): Move => ({ name, event, principal: operator });

const pairingMoves = ({ requests, node }: DeviceContext): Move[] => [
  ...requests.flatMap(({ requestId, role }) => [
    byOperator(`approve ${role}`, { type: 'device.approve', requestId }),
    byOperator(`reject ${role}`, { type: 'device.reject', requestId }),
  ]),
  ...(node?.request
    ? [
        byOperator('approve the commands', {
          type: 'device.surface.approve',
          requestId: node.request.requestId,
        }),
        byOperator('reject the commands', {
          type: 'device.surface.reject',
          requestId: node.request.requestId,
        }),
      ]
    : []),
];

const strangers: Move[] = [
  { name: 'ask as node', event: asks() },
  { name: 'ask as node, approved', event: asks({ approved: true }) },
  { name: 'ask as operator', event: asks({ role: 'operator', scopes: ['operator.read'] }) },
  {
    name: 'ask as admin, approved',
    event: asks({ role: 'operator', scopes: ['operator.admin'], approved: true }),
  },
  { name: 'ask from a Mac', event: asks({ face: { ...face, platform: 'darwin' } }) },
  { name: 'ask with another key', event: asks({ publicKey: 'x'.repeat(43) }) },
  { name: 'ask by an actor', event: asks({ approved: true }), from: agent },
  byOperator('approve nothing', { type: 'device.approve', requestId: 'none' }),
  byOperator('reject nothing', { type: 'device.reject', requestId: 'none' }),
  {
    name: 'approve as guest',
    event: { type: 'device.approve', requestId: 'none' },
    principal: guest,
  },
  {
    name: 'reject as an actor',
    event: { type: 'device.reject', requestId: 'none' },
    principal: operator,
    from: agent,
  },
];

const owners: Move[] = [
  byOperator('remove', { type: 'device.remove' }),
  { name: 'remove as guest', event: { type: 'device.remove' }, principal: guest },
  byOperator('rename', { type: 'device.rename', name: 'the phone' }),
  byOperator('approve no commands', { type: 'device.surface.approve', requestId: 'none' }),
  {
    name: 'reject commands as guest',
    event: { type: 'device.surface.reject', requestId: 'none' },
    principal: guest,
  },
  { name: 'token', event: { type: 'device.token', role: 'node', hash: 'a'.repeat(64) } },
  byOperator('revoke', { type: 'device.revoke', role: 'node' }),
];

const connections: Move[] = ['c1', 'c2'].flatMap((connId): Move[] => [
  { name: `${connId} online`, event: online({ connId, approved: true }) },
  {
    name: `${connId} online with a book`,
    event: online({ connId, approved: true, replays: true }),
  },
  { name: `${connId} online with more`, event: wider(connId) },
  { name: `${connId} offline`, event: { type: 'device.offline', connId } },
]);

const commands = (id: string): Move[] => [
  { name: `invoke ${id}`, event: invokes(id) },
  { name: `invoke ${id} otherwise`, event: invokes(id, { paramsJson: '[]' }), from: agent },
  ...['c1', 'c2'].flatMap((connId): Move[] => [
    { name: `${connId} takes ${id}`, event: { type: 'device.taken', id, connId } },
    {
      name: `${connId} answers ${id}`,
      event: { type: 'device.result', id, connId, payload: { json: '{"ok":true}' } },
    },
  ]),
];

const items: Move[] = [
  {
    name: 'enqueue',
    event: {
      type: 'device.enqueue',
      itemId: 'w1',
      kind: 'note',
      priority: 'normal',
      expiresInMs: 2_000,
    },
  },
  { name: 'drain', event: { type: 'device.drain', max: 10 } },
  { name: 'ack', event: { type: 'device.ack', itemIds: ['w1'] } },
];

const summary = (context: DeviceContext): unknown => {
  const { roles, requests, node, invocations, ended, waiting } = context;
  return [
    Object.entries(roles).map(([role, grant]) => [
      role,
      grant.scopes,
      grant.tokenHash !== undefined,
    ]),
    requests.map(({ role, reason }) => [role, reason]),
    node && [node.approved, node.request?.commands, node.link?.connId, node.replays],
    invocations.map((one) => [
      one.id,
      one.connId,
      one.taken,
      one.touched,
      one.tellings,
      one.askers.length > 1,
    ]),
    ended.map(({ id, answered }) => [id, answered]),
    waiting.length,
  ];
};

const machine = { machine: deviceMachine, self: deviceAddress('default', deviceId) };
const contextOf = (live: { snapshot: { context: unknown } }) =>
  live.snapshot.context as DeviceContext;
const key: Exploration['key'] = (live) => [
  live.snapshot.value,
  live.snapshot.status,
  summary(contextOf(live)),
];

/** A removed actor receives no events. */
const whileAlive =
  (moves: Exploration['moves']): Exploration['moves'] =>
  (live, now, ledger) =>
    live.snapshot.status === 'done' ? [] : moves(live, now, ledger);

/** How the device is approved; afterwards it connects only now and then. */
export const pairing: Exploration = {
  ...machine,
  moves: whileAlive((live) => [
    ...strangers,
    ...owners,
    ...pairingMoves(contextOf(live)),
    connections[2]!,
  ]),
  key,
  ledger: () => new Promised(),
};

/** Events of an approved node. */
const asNode = (moves: (context: DeviceContext) => readonly Move[]): Exploration['moves'] =>
  whileAlive((live) =>
    live.snapshot.value === 'unknown' ? [strangers[1]!] : moves(contextOf(live)),
  );

/** Events that represent other ones, for the walk that visits every situation. */
const SELDOM = new Set(['c2 online', 'c1 online with more', 'c2 offline']);

/** Commands for a node. */
export const working: Exploration = {
  ...machine,
  moves: asNode((context) => [
    ...connections.filter(({ name }) => !SELDOM.has(name)),
    ...commands('i1'),
    ...pairingMoves(context),
    ...items,
    owners[0]!,
  ]),
  key,
  ledger: () => new Promised(),
};

/** All events except the removal, which soon ends a walk. */
export const anything: Exploration = {
  ...machine,
  moves: asNode((context) => [
    ...connections,
    ...commands('i1'),
    ...commands('i2'),
    ...pairingMoves(context),
    ...items,
    ...strangers.slice(0, 5),
    ...owners.slice(2),
  ]),
  key,
  ledger: () => new Promised(),
};
