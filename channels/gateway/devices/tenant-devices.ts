/**
 * The devices of one tenant at this gateway: which connections are nodes, the commands sent to
 * them, and the device events sent to operators.
 *
 * Boundary: device actors own the durable state. This state is lost with the gateway and rebuilt
 * when its nodes reconnect. device-guard.ts closes the connections of devices that lost a right.
 *
 * Invariants:
 *  1. A command is written to a connection once, however often it is published.
 *  2. It is written only after the device actor recorded that this connection accepts it. If the
 *     gateway crashes, the answer "the node never received it" is therefore true.
 */
import { defined } from '../../../protocols/defined.ts';
import {
  type DeviceCancel,
  type DeviceChanged,
  type DeviceDeliver,
  deviceAddress,
  type DeviceNotice,
  type DeviceRow,
  DEVICES_INDEX,
  devicesTopic,
  type Payload,
} from '../../../protocols/device.ts';
import { errorData } from '../../../protocols/errors.ts';
import type { Scope } from '../../../protocols/gateway/index.ts';
import type { Message } from '../../../protocols/statechart.ts';
import type { Clock, System } from '../../../runtime/index.ts';
import { type Client, type Connection, eventHead } from '../transport/connection.ts';
import {
  DEVICE_READS_MAX,
  DEVICE_READ_MS,
  DEVICE_ONLINE_RETRY_MS,
  DEVICE_ONLINE_TIMEOUT_MS,
  NODE_DELIVERED_MAX,
} from '../limits.ts';
import type { Logger } from '../log.ts';
import { keepPayload, type Payloads, readPayload } from './node-payloads.ts';
import { faceOf, replaysOf, surfaceOf } from './node-surface.ts';
import {
  pairChange,
  pairRequested,
  pairResolved,
  pendingNode,
} from '../../../operations/devices/node-rows.ts';

type Parts = {
  readonly system: Pick<System, 'index' | 'bus' | 'tell' | 'ask'>;
  readonly tenant: string;
  /** identifies this run of the gateway */
  readonly gateway: string;
  /** receivers of events: open connections, and ended ones that a client may resume */
  readonly connections: Iterable<Connection>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly payloads?: Payloads | undefined;
};

type ConnectedNode = {
  readonly connection: Connection;
  readonly client: Client;
  readonly deviceId: string;
  /** commands that were written to it and have no answer yet, oldest first */
  readonly delivered: Set<string>;
};

export class TenantDevices {
  readonly #parts: Parts;
  /** this gateway's nodes, by connection id */
  readonly #nodes = new Map<string, ConnectedNode>();
  readonly #unsubscribe: () => void;
  /** cancel functions of scheduled re-reads of rows */
  readonly #pendingReads = new Set<() => void>();

  constructor(parts: Parts) {
    this.#parts = parts;
    // protocols/device.ts defines the payload of this topic.
    this.#unsubscribe = parts.system.bus.subscribe(devicesTopic(parts.tenant), ({ payload }) =>
      this.#onNotice(payload as DeviceNotice),
    );
  }

  /**
   * Reports a connected node to its device actor, and retries until the actor answers or the node
   * disconnects. Otherwise a node that connected while its shard moved would never be invoked.
   * Never rejects.
   */
  async joined(connection: Connection): Promise<void> {
    const { client } = connection;
    if (client?.role !== 'node' || client.deviceId === undefined) return;
    const { deviceId } = client;
    const node = { connection, client, deviceId, delivered: new Set<string>() };
    this.#nodes.set(connection.id, node);
    while (this.#nodes.get(connection.id) === node) {
      if ((await this.#reportOnline(node)) !== NO_ANSWER) return;
      await this.#pause(connection);
    }
  }

  #reportOnline({ connection, client, deviceId }: ConnectedNode): Promise<unknown> {
    return this.#sendToDevice(deviceId, client, {
      type: 'device.online',
      gateway: this.#parts.gateway,
      connId: connection.id,
      surface: surfaceOf(client.params),
      face: faceOf(client.params, connection.remoteAddress),
      ...(client.isApprovedAutomatically ? { approved: true } : {}),
      ...(replaysOf(client.params) ? { replays: true } : {}),
    });
  }

  /** Ends early when the connection ends. */
  #pause(connection: Connection): Promise<void> {
    return new Promise((resolve) => {
      let release = () => {};
      const end = () => {
        cancel();
        release();
        resolve();
      };
      const cancel = this.#parts.clock.after(DEVICE_ONLINE_RETRY_MS, end);
      release = connection.lease(end);
    });
  }

  left({ id }: Connection): void {
    const node = this.#nodes.get(id);
    if (node === undefined) return;
    this.#nodes.delete(id);
    void this.#sendToDevice(node.deviceId, node.client, { type: 'device.offline', connId: id });
  }

  row(deviceId: string): DeviceRow | undefined {
    return this.#parts.system.index.get<DeviceRow>(DEVICES_INDEX, this.#parts.tenant, deviceId);
  }

  /** All devices of the tenant, ordered by id. */
  *rows(): Generator<DeviceRow> {
    const { system, tenant } = this.#parts;
    let after: string | undefined;
    for (;;) {
      const page = system.index.list<DeviceRow>(DEVICES_INDEX, tenant, {
        limit: PAGE_ROWS,
        ...defined({ after }),
      });
      for (const { value } of page) yield value;
      if (page.length < PAGE_ROWS) return;
      after = page.at(-1)!.key;
    }
  }

  /**
   * Converts an answer for the actor's message; a long one is stored as a file.
   * @throws TroupeError PAYLOAD_TOO_LARGE, UNAVAILABLE
   */
  async keep(text: string): Promise<Payload> {
    const { tenant, payloads } = this.#parts;
    return keepPayload(payloads, tenant, text);
  }

  /** The text of an answer. @throws TroupeError UNAVAILABLE when its file cannot be read */
  async text(payload: Payload): Promise<string> {
    const { tenant, payloads } = this.#parts;
    return readPayload(payloads, tenant, payload);
  }

  /** The node has answered the command, so the same id may be written again. */
  answered(connection: Connection, id: string): void {
    this.#nodes.get(connection.id)?.delivered.delete(id);
  }

  close(): void {
    this.#unsubscribe();
    for (const cancel of this.#pendingReads) cancel();
    for (const { connection } of this.#nodes.values()) this.left(connection);
  }

  #onNotice(notice: DeviceNotice): void {
    if (notice.type === 'device.changed') return this.#changed(notice);
    const node = this.#nodes.get(notice.connId);
    if (node === undefined) return;
    const { deviceId } = node;
    if (notice.type === 'device.deliver') void this.#deliver(node, notice);
    else if (notice.type === 'device.cancel') this.#cancel(node, notice);
    else node.connection.event(eventHead('node.pending.available', { nodeId: deviceId }));
  }

  /** Writes the command after the actor stored that this connection accepts it. Never rejects. */
  async #deliver(node: ConnectedNode, notice: DeviceDeliver): Promise<void> {
    const { connection, deviceId, delivered } = node;
    const { id, command, paramsJson, timeoutMs } = notice;
    if (delivered.has(id)) return;
    delivered.add(id);
    if (delivered.size > NODE_DELIVERED_MAX) delivered.delete(delivered.values().next().value!);
    if (!(await this.#isAccepted(node, id))) {
      delivered.delete(id);
      return;
    }
    connection.event(
      eventHead('node.invoke.request', {
        id,
        nodeId: deviceId,
        command,
        paramsJSON: paramsJson,
        timeoutMs,
        idempotencyKey: id,
      }),
    );
  }

  async #isAccepted({ connection, client, deviceId }: ConnectedNode, id: string): Promise<boolean> {
    const event = { type: 'device.taken', id, connId: connection.id };
    const answer = await this.#sendToDevice(deviceId, client, event);
    return answer !== NO_ANSWER && ((answer as { taken?: boolean } | undefined)?.taken ?? false);
  }

  #cancel({ connection, deviceId, delivered }: ConnectedNode, { id }: DeviceCancel): void {
    if (!delivered.delete(id)) return;
    connection.event(eventHead('node.invoke.cancel', { invokeId: id, nodeId: deviceId }));
  }

  /** In a cluster the notice of a request may arrive before its row, so the row is read again. */
  #changed(notice: DeviceChanged, reads = 0): void {
    const row = this.row(notice.deviceId);
    if (!hasRequest(row, notice) && reads < DEVICE_READS_MAX) {
      const cancel = this.#parts.clock.after(DEVICE_READ_MS, () => {
        this.#pendingReads.delete(cancel);
        this.#changed(notice, reads + 1);
      });
      this.#pendingReads.add(cancel);
      return;
    }
    const ts = this.#parts.clock.wallMs();
    const { deviceId, what, requestId } = notice;
    switch (what) {
      case 'requested':
        for (const request of row?.requests ?? []) {
          if (request.requestId === requestId)
            this.#publish('device.pair.requested', pairRequested(row!, request), PAIRING);
        }
        break;
      case 'approved':
      case 'rejected':
      case 'expired':
        if (requestId !== undefined)
          this.#publish(
            'device.pair.resolved',
            pairResolved(requestId, deviceId, what, ts),
            PAIRING,
          );
        break;
      case 'surface-requested':
        if (row?.node?.request) this.#publish('node.pair.requested', pendingNode(row), PAIRING);
        break;
      case 'surface-approved':
      case 'surface-rejected':
        this.#surfaceResolved(notice, ts);
        break;
      case 'online':
      case 'offline':
        if (what === 'offline') this.#reportAgain(notice);
        this.#publish(
          'node.presence',
          { nodeId: deviceId, connected: what === 'online', ts },
          READING,
        );
        break;
      default:
    }
    this.#publish('device.pair.changed', pairChange(deviceId, what, ts), PAIRING);
  }

  /**
   * The actor marked the node offline because it accepted a command too slowly. If it is still
   * connected, it is reported again.
   */
  #reportAgain({ connId }: DeviceChanged): void {
    const node = connId === undefined ? undefined : this.#nodes.get(connId);
    if (node !== undefined) void this.joined(node.connection);
  }

  #surfaceResolved({ deviceId, what, requestId }: DeviceChanged, ts: number): void {
    const decision = what === 'surface-approved' ? 'approved' : 'rejected';
    this.#publish('node.runnerInventory.changed', { nodeId: deviceId }, READING);
    if (requestId === undefined) return;
    const payload = { requestId, nodeId: deviceId, decision, ts };
    this.#publish('node.pair.resolved', payload, PAIRING);
    // The node repeats requests that were refused while its commands were pending.
    for (const { connection, deviceId: own } of this.#nodes.values())
      if (own === deviceId) connection.event(eventHead('node.pair.resolved', payload));
  }

  #publish(event: string, payload: object, scopes: readonly Scope[]): void {
    const head = eventHead(event, payload);
    for (const connection of this.#parts.connections) {
      const { client } = connection;
      if (client?.role === 'operator' && client.scopes.some((scope) => scopes.includes(scope)))
        connection.event(head);
    }
  }

  /**
   * Sends the event to the device actor and returns its result. Returns undefined when the actor
   * refuses, and NO_ANSWER when it did not answer. Refusals and errors are logged. Never rejects.
   */
  async #sendToDevice(deviceId: string, { principal }: Client, event: Message): Promise<unknown> {
    const { system, tenant, log } = this.#parts;
    const to = deviceAddress(tenant, deviceId);
    try {
      const answer =
        event.type === 'device.offline'
          ? await system.tell(to, event, { principal, repeatable: true })
          : await system.ask(to, event, {
              principal,
              repeatable: true,
              timeoutMs: DEVICE_ONLINE_TIMEOUT_MS,
            });
      if (answer.kind === 'answered') return answer.result;
      if (answer.kind !== 'refused') return NO_ANSWER;
      log.warn({ deviceId, event: event.type, error: answer.error }, 'gateway: a device refuses');
      return undefined;
    } catch (error) {
      const shown = errorData(error);
      log.warn({ deviceId, event: event.type, error: shown }, 'gateway: a device was not notified');
      return NO_ANSWER;
    }
  }
}

const NO_ANSWER = Symbol('no answer');

/** Whether the row contains the request that the notice names; true when it names none. */
const hasRequest = (row: DeviceRow | undefined, { what, requestId }: DeviceChanged): boolean => {
  if (what === 'requested')
    return row?.requests.some((request) => request.requestId === requestId) ?? false;
  return what !== 'surface-requested' || row?.node?.request?.requestId === requestId;
};

const PAGE_ROWS = 500;
const PAIRING: readonly Scope[] = ['operator.pairing', 'operator.admin'];
const READING: readonly Scope[] = ['operator.read', 'operator.write', 'operator.admin'];
