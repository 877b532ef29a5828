/** A conversation that a test steps by hand, with the actions that it requested from the host. */
import { conversationMachine } from '../../../actors/conversation/machine.ts';
import { address } from '../../../protocols/address.ts';
import {
  conversationAddress,
  type ConversationAnswered,
  type ConversationBegin,
  type ConversationResult,
  type ConversationRow,
} from '../../../protocols/conversation.ts';
import type { ErrorData } from '../../../protocols/errors.ts';
import type { RunEnded, SessionReceive } from '../../../protocols/session.ts';
import type { Message, Meta, Project, Tell } from '../../../protocols/statechart.ts';
import {
  type StepRequest,
  initialState,
  fired,
  type Live,
  step,
} from '../../../runtime/statechart/host.ts';
import { timerName } from '../../../runtime/statechart/facts.ts';
import { requestsOf } from '../../charts/coverage.ts';
import { begin, ended } from './walk.ts';

const SELF = conversationAddress('default', 'c1');
const BORN_AT = 1_000;

export class Driven {
  now = BORN_AT;
  readonly requests: StepRequest[] = [];
  #live: Live;

  constructor(more: Partial<ConversationBegin> = {}) {
    const input = { self: SELF, tenant: 'default', key: 'c1', now: BORN_AT };
    const { live, requests } = initialState(conversationMachine, input, this.#meta());
    this.#live = live;
    this.requests.push(...requests);
    this.send(begin(more));
  }

  #meta = (from?: string): Meta => ({
    id: 'm1',
    now: this.now,
    self: SELF,
    ...(from === undefined ? {} : { from: address('default', 'session', from) }),
  });

  send(event: Message, from?: string): this {
    return this.#step({ event: { ...event, meta: this.#meta(from) } });
  }

  #step(cause: Parameters<typeof step>[2]): this {
    const made = step(conversationMachine, this.#live, cause, this.now);
    if (made.error) throw new Error(made.error.message);
    this.#live = made.live;
    this.requests.push(...made.requests);
    return this;
  }

  /** The target session accepts the message. */
  accept(): this {
    const { runId, sessionKey } = this.row.turns.at(-1)!;
    return this.send({ type: 'reply', to: 'm', result: { runId } }, sessionKey);
  }

  refuse(error: ErrorData): this {
    return this.send({ type: 'reply', to: 'm', error }, this.row.turns.at(-1)!.sessionKey);
  }

  /** The awaited run ends; by default with text, in a session that has users. */
  end(more: Partial<RunEnded> = {}): this {
    const event = ended(this.#live, more);
    return this.send(event, event.sessionKey);
  }

  /** Advances the time until this timer fires. */
  late(name: string): this {
    const timers = Object.entries(this.#live.timers);
    const found = timers.find(([id]) => timerName(conversationMachine, id) === name);
    if (!found) throw new Error(`no timer ${name}`);
    const [id, { due, key }] = found;
    this.now = due;
    return this.#step(fired(this.#live, id, key, this.#meta()));
  }

  get state(): unknown {
    return this.#live.snapshot.value;
  }
  get results(): readonly ConversationResult[] {
    return this.#sent()
      .filter(({ type }) => type === 'conversation.answered')
      .map((event) => (event as unknown as ConversationAnswered).result);
  }
  get asked(): readonly SessionReceive[] {
    return this.#sent().filter(({ type }) => type === 'session.receive') as never;
  }
  get row(): ConversationRow {
    return requestsOf<Project>(this.requests, 'project').at(-1)!.value as ConversationRow;
  }

  #sent = (): Message[] => requestsOf<Tell>(this.requests, 'tell').map(({ event }) => event);
}
