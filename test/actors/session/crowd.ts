/**
 * Many sessions with their subagents and conversations, on the real statecharts. Messages between
 * two actors keep their order; all others are delivered in any order. There is no clock, store or
 * I/O: the test chooses the next step.
 *
 * The test also answers for models and tools: with text, or with calls that send requests to the
 * session. Agents admit every run at once, or have a number of slots.
 */
import { agentMachine } from '../../../actors/agent/machine.ts';
import { conversationMachine } from '../../../actors/conversation/machine.ts';
import { batchOf } from '../../../actors/session/run/batch.ts';
import { sessionMachine } from '../../../actors/session/machine.ts';
import type { SessionContext } from '../../../actors/session/types.ts';
import { subagentMachine } from '../../../actors/subagent/machine.ts';
import { address, type Address, parseAddress } from '../../../protocols/address.ts';
import type { SessionEntry } from '../../../protocols/session.ts';
import type {
  Append,
  Message,
  Meta,
  Reply,
  ReplyRef,
  Tell,
} from '../../../protocols/statechart.ts';
import {
  initialState,
  type Cause,
  fired,
  isDone,
  type Live,
  load,
  save,
  settled,
  step,
} from '../../../runtime/statechart/host.ts';
import { requestsOf } from '../../charts/coverage.ts';
import { answer, ASSEMBLED, call, settings } from './driven.ts';

type Letter = {
  readonly to: Address;
  readonly from: Address;
  readonly event: Message;
  id: string;
} & {
  readonly ask?: boolean;
};
/** One possible next step. */
export type Chance = { readonly name: string; readonly go: () => void };
/** The request that a tool sends to its session; a repeated call sends the same one. */
export type Wish = (at: { sessionKey: string; runId: string; callId: string }) => Message;

const MACHINES = {
  session: sessionMachine,
  subagent: subagentMachine,
  conversation: conversationMachine,
  agent: agentMachine,
} as const;
type Type = keyof typeof MACHINES;

export const sessionAt = (key: string): Address => address('default', 'session', key);

export class Crowd {
  now = 1_000;
  #seq = 0;
  readonly actors = new Map<Address, Live>();
  readonly #mail = new Map<string, Letter[]>();
  readonly #answers = new Map<string, unknown>();
  /** by running call, its request and the id of its last message */
  readonly #asked = new Map<string, { readonly wish: Message; id: string }>();
  readonly entries: { readonly key: string; readonly entry: SessionEntry }[] = [];

  /** `slots`: runs that each agent admits at once; absent: no limit */
  readonly slots: number | undefined;
  constructor(slots?: number) {
    this.slots = slots;
  }

  context(key: string): SessionContext {
    return this.actors.get(sessionAt(key))!.snapshot.context as SessionContext;
  }
  sessions(): SessionContext[] {
    return this.of('session').map(({ snapshot }) => snapshot.context as SessionContext);
  }
  of(type: Type): Live[] {
    return [...this.actors].filter(([at]) => parseAddress(at).type === type).map(([, l]) => l);
  }

  /** Sends a message from outside to a session. */
  say(key: string, event: Message): void {
    this.tell(sessionAt(key), event);
  }
  tell(at: Address, event: Message): void {
    const reply = { id: `say${this.#seq}` };
    this.#apply(at, { ...this.#meta(at), reply }, (meta) => ({ event: { ...event, meta } }));
  }

  /** Loads the actor from its snapshot, as after the death of its worker. */
  restart(at: Address): void {
    const live = this.actors.get(at)!;
    const machine = MACHINES[parseAddress(at).type as Type];
    const row = JSON.parse(JSON.stringify(save(live))) as ReturnType<typeof save>;
    this.actors.set(at, load(machine, row));
  }

  /** Messages that can be delivered and effects that can end; calls send the requests of `wish`. */
  chances(wish: Wish, thinks: (session: SessionContext) => number): Chance[] {
    return [
      ...this.#letters(),
      ...[...this.actors].flatMap(([at, live]) => this.#jobs(at, live, wish, thinks)),
    ];
  }

  #letters(): Chance[] {
    return [...this.#mail].flatMap(([pair, letters]) =>
      letters.length > 0 ? [{ name: `mail ${pair}`, go: () => this.#deliver(letters) }] : [],
    );
  }

  #jobs(
    at: Address,
    live: Live,
    wish: Wish,
    thinks: (session: SessionContext) => number,
  ): Chance[] {
    const context = live.snapshot.context as SessionContext;
    return Object.entries(live.jobs).flatMap(([job, { key, settled: isSettled }]): Chance[] => {
      if (isSettled) return [];
      const end = (output: () => unknown) => () =>
        this.#apply(at, this.#meta(at), (meta) => settled(job, key, output(), meta));
      if (job === 'model') {
        const assembled = context.run!.isAssembled ? {} : { assembled: ASSEMBLED };
        const thought = () => ({ ...assembled, ...this.#thought(thinks(context)) });
        return [{ name: 'model', go: end(thought) }];
      }
      if (job === 'farewell' || job === 'reply')
        return [{ name: job, go: end(() => (job === 'reply' ? { text: '' } : null)) }];
      return this.#calls(context, wish, end);
    });
  }

  #thought(calls: number) {
    const planned = Array.from({ length: calls }, () =>
      call(`k${this.#seq++}`, { args: this.#seq }),
    );
    return answer(planned);
  }

  #calls(
    context: SessionContext,
    wish: Wish,
    end: (output: () => unknown) => () => void,
  ): Chance[] {
    const { sessionKey, run } = context;
    const calls = batchOf(context);
    const open = calls.filter(({ id }) => !this.#asked.has(id));
    if (open.length > 0)
      return open.map(({ id: callId }) => ({
        name: 'call',
        go: () => this.#ask(sessionKey, callId, wish({ sessionKey, runId: run!.runId, callId })),
      }));
    const asked = calls.map(({ id }) => this.#asked.get(id)!);
    if (!asked.every(({ id }) => this.#answers.has(id)))
      return calls.map(({ id }) => ({
        name: 'once more',
        go: () => this.#ask(sessionKey, id, this.#asked.get(id)!.wish),
      }));
    const results = () =>
      calls.map(({ id, name }) => {
        const { id: answered, wish: asking } = this.#asked.get(id)!;
        const given = this.#answers.get(answered) as object;
        const ends = 'tokensUsed' in given ? { ends: [String(asking['id'])] } : {};
        return { callId: id, name, result: JSON.stringify(given), isError: false, ...ends };
      });
    const late = () =>
      calls.map(({ id, name }) => ({ callId: id, name, result: 'too late', isError: true }));
    return [
      { name: 'tools', go: end(results) },
      { name: 'tools, too late', go: end(late) },
      { name: 'once more', go: () => this.#ask(sessionKey, calls[0]!.id, asked[0]!.wish) },
    ];
  }

  #ask(key: string, callId: string, wish: Message): void {
    const id = `ask${this.#seq++}`;
    this.#asked.set(callId, { wish, id });
    const at = sessionAt(key);
    this.#apply(at, { ...this.#meta(at), reply: { id } }, (meta) => ({ event: { ...wish, meta } }));
  }

  /** Fires the timers with such a delay, the earliest first; returns false if there is none. */
  fire(names: readonly string[]): boolean {
    const armed = [...this.actors].flatMap(([at, live]) =>
      Object.entries(live.timers)
        .filter(([id, timer]) => !timer.fired && names.some((name) => id.includes(name)))
        .map(([id, { due, key }]) => ({ at, live, id, due, key })),
    );
    const [next] = armed.toSorted((a, b) => a.due - b.due);
    if (!next) return false;
    this.now = Math.max(this.now, next.due);
    this.#apply(next.at, this.#meta(next.at), (meta) => fired(next.live, next.id, next.key, meta));
    return true;
  }

  #meta(self: Address): Meta {
    return { id: `m${this.#seq++}`, now: ++this.now, self };
  }

  #deliver(letters: Letter[]): void {
    const { to, from, event, id, ask } = letters.shift()!;
    if (parseAddress(to).type === 'agent') {
      if (this.slots === undefined) return this.#admit(to, from, event);
      if (!this.actors.has(to)) this.#configure(to, this.slots);
    }
    const meta: Meta = {
      ...this.#meta(to),
      id,
      from,
      ...(ask ? { reply: { id, actor: from } } : {}),
    };
    this.#apply(to, meta, (given) => ({ event: { ...event, meta: given } }));
  }

  #configure(agent: Address, runsMax: number): void {
    const given = { ...settings, agentId: parseAddress(agent).key, runsMax };
    this.tell(agent, { type: 'agent.configure', settings: given });
  }
  #admit(agent: Address, to: Address, { type, runId }: Message): void {
    if (type !== 'agent.admit') return;
    this.#post(agent, to, { type: 'agent.admitted', runId, lease: 0, settings });
  }

  #post(from: Address, to: Address, event: Message, ask = false): void {
    const pair = `${from} ${to}`;
    const letter = { to, from, event, ask, id: `l${this.#seq++}` };
    this.#mail.set(pair, [...(this.#mail.get(pair) ?? []), letter]);
  }

  #apply(at: Address, meta: Meta, causeOf: (meta: Meta) => Cause): void {
    const { type, key, tenant } = parseAddress(at);
    const machine = MACHINES[type as Type];
    const input = { self: at, tenant, key, now: meta.now };
    const live = this.actors.get(at) ?? initialState(machine, input, meta).live;
    const made = step(machine, live, causeOf(meta), meta.now);
    if (made.outcome === 'failed') throw new Error(made.error?.message);
    if (isDone(made.live)) this.actors.delete(at);
    else this.actors.set(at, made.live);
    for (const { entries } of requestsOf<Append>(made.requests, 'append'))
      for (const entry of entries as SessionEntry[]) this.entries.push({ key, entry });
    for (const { to, event, ask } of requestsOf<Tell>(made.requests, 'tell'))
      this.#post(at, to, event, ask);
    for (const one of requestsOf<Reply>(made.requests, 'reply')) this.#reply(at, one);
  }

  #reply(from: Address, { to, result, error }: Reply): void {
    if (!to) return;
    const { actor, id }: ReplyRef = to;
    if (!actor) {
      if (!this.#answers.has(id)) this.#answers.set(id, result ?? error);
    } else {
      const event = { type: 'reply', to: id, ...(error ? { error } : { result }) };
      this.#post(from, actor, event);
    }
  }
}
