/**
 * A node and its gateway as the device actor sees them. It receives messages on the bus,
 * acknowledges a command before it executes it, and keeps a record of its answers. Only the socket
 * between the two is left out.
 */
import {
  type DeviceDeliver,
  deviceAddress,
  type DeviceLinked,
  type DeviceNotice,
  devicesTopic,
  type Payload,
} from '../../../protocols/device.ts';
import type { Message } from '../../../protocols/statechart.ts';
import type { System } from '../../../runtime/index.ts';
import { deviceId, online } from './walk.ts';

const ASK_MS = 10_000;

export type FakeNodeOptions = {
  readonly connId: string;
  /** keeps a record of its answers, and declares so */
  readonly replays?: boolean;
  /** executes a command; null: gives no answer */
  readonly execute: (command: DeviceDeliver) => Payload | null;
  /** does not acknowledge commands, like a gateway that hangs */
  readonly hangs?: boolean;
};

export class FakeNode {
  readonly notices: DeviceNotice[] = [];
  readonly #system: System;
  readonly #options: FakeNodeOptions;
  readonly #handed = new Set<string>();
  readonly #unsubscribe: () => void;
  readonly #under = deviceAddress('default', deviceId);

  constructor(system: System, options: FakeNodeOptions) {
    this.#system = system;
    this.#options = options;
    this.#unsubscribe = system.bus.subscribe(devicesTopic('default'), ({ payload }) => {
      void this.#onNotice(payload as DeviceNotice);
    });
  }

  /** Connects, with everything that it offers approved. */
  async join(): Promise<DeviceLinked> {
    const { connId, replays = false } = this.#options;
    return (await this.#ask(online({ connId, approved: true, replays }))) as DeviceLinked;
  }

  /** Closes its connection. */
  async leave(): Promise<void> {
    this.cut();
    await this.#ask({ type: 'device.offline', connId: this.#options.connId });
  }

  /** Its gateway ends without a message about it. */
  cut(): void {
    this.#unsubscribe();
  }

  answer(id: string, payload: Payload): Promise<unknown> {
    return this.#ask({ type: 'device.result', id, connId: this.#options.connId, payload });
  }

  async #onNotice(notice: DeviceNotice): Promise<void> {
    this.notices.push(notice);
    const { connId, hangs = false, execute } = this.#options;
    if (notice.type !== 'device.deliver' || notice.connId !== connId || hangs) return;
    const { id } = notice;
    const { taken } = (await this.#ask({ type: 'device.taken', id, connId })) as { taken: boolean };
    if (!taken || this.#handed.has(id)) return;
    this.#handed.add(id);
    const payload = execute(notice);
    if (payload) await this.answer(id, payload);
  }

  async #ask(event: Message): Promise<unknown> {
    const asked = await this.#system.ask(this.#under, event, {
      principal: { sub: 'gateway', roles: [] },
      timeoutMs: ASK_MS,
    });
    if (asked.kind === 'answered') return asked.result;
    throw new Error(`${event.type}: ${JSON.stringify(asked)}`);
  }
}
