/** A device actor that a test steps by hand, at chosen times. */
import { deviceMachine } from '../../../actors/device/machine.ts';
import type { DeviceContext } from '../../../actors/device/types.ts';
import type { Address } from '../../../protocols/address.ts';
import { defined } from '../../../protocols/defined.ts';
import { deviceAddress, type DeviceNotice } from '../../../protocols/device.ts';
import type { ErrorData } from '../../../protocols/errors.ts';
import type { Message, Meta, Publish, Reply } from '../../../protocols/statechart.ts';
import { initialState, fired, isDone, type Live, step } from '../../../runtime/statechart/host.ts';
import { requestsOf } from '../../charts/coverage.ts';
import { asks, deviceId, operator } from './walk.ts';

const self = deviceAddress('default', deviceId);

type Answer = { readonly to: string; readonly result?: unknown; readonly error?: ErrorData };
type Saying = { readonly from?: Address; readonly principal?: Meta['principal'] };

export class Stepped {
  now = 1_000;
  /** all replies, with their receivers */
  readonly answers: Answer[] = [];
  readonly notices: DeviceNotice[] = [];
  #live: Live;
  #messages = 0;

  constructor() {
    const input = { self, tenant: 'default', key: deviceId, now: this.now };
    this.#live = initialState(deviceMachine, input, { id: 'm0', now: this.now, self }).live;
  }

  /** A device whose entry point has approved it as a node. */
  static node(): Stepped {
    const device = new Stepped();
    device.ask(asks({ approved: true }));
    return device;
  }

  get context(): DeviceContext {
    return this.#live.snapshot.context as DeviceContext;
  }
  get isGone(): boolean {
    return isDone(this.#live);
  }

  /** The reply to this message; undefined while there is none. */
  ask(event: Message, { from, principal }: Saying = {}): Answer | undefined {
    const id = `m${++this.#messages}`;
    const meta: Meta = {
      id,
      now: this.now,
      self,
      reply: { id },
      ...(from ? { from } : {}),
      ...defined({ principal }),
    };
    this.#take(step(deviceMachine, this.#live, { event: { ...event, meta } }, this.now));
    return this.answers.find(({ to }) => to === id);
  }

  decide(event: Message): Answer | undefined {
    return this.ask(event, { principal: operator });
  }

  /** Advances the time; every timer that is due by then fires in order. */
  pass(ms: number): void {
    const until = this.now + ms;
    for (;;) {
      const armed = Object.entries(this.#live.timers).filter(([, { fired: gone }]) => !gone);
      const [next] = armed.toSorted(([, a], [, b]) => a.due - b.due);
      if (!next || next[1].due > until) break;
      const [id, { due, key }] = next;
      this.now = Math.max(this.now, due);
      const meta: Meta = { id: `m${++this.#messages}`, now: this.now, self };
      this.#take(step(deviceMachine, this.#live, fired(this.#live, id, key, meta), this.now));
    }
    this.now = until;
  }

  #take({ live, requests: asked, outcome, error }: ReturnType<typeof step>): void {
    if (outcome === 'failed') throw new Error(error?.message);
    this.#live = live;
    for (const { to, result, error: why } of requestsOf<Reply>(asked, 'reply'))
      if (to) this.answers.push({ to: to.id, ...(why ? { error: why } : { result }) });
    for (const { event } of requestsOf<Publish>(asked, 'publish'))
      this.notices.push(event as unknown as DeviceNotice);
  }
}
