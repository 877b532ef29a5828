/**
 * The puppet: one machine that executes the commands in its messages, so that each test shows the
 * messages and their results in one place. And the boss, a supervisor that a test controls.
 */
import { assign, enqueueActions, setup } from 'xstate';
import type { Address } from '../../../protocols/address.ts';
import { type ErrorData, TroupeError } from '../../../protocols/errors.ts';
import {
  type ActorInput,
  type Delivered,
  effect,
  hostActions,
  type Message,
  type ReplyRef,
} from '../../../protocols/statechart.ts';
import { type ActorDefinition, type ActorOptions, defineActor } from '../../../runtime/index.ts';
import type { EffectContext } from '../../../runtime/index.ts';
import { oddOf } from './odd.ts';

/** The commands of a puppet. `n` is the label under which it records the message as seen. */
export type Do = Message & {
  readonly n?: number | string;
  /** params of `tell`, unchecked */
  readonly tells?: readonly unknown[];
  /** the answer; default the inputs that it has seen. With `never` the caller receives none */
  readonly answer?: unknown;
  /** the answer instead, until it has seen this number of messages */
  readonly refuses?: { readonly error: ErrorData; readonly until: number };
  readonly appends?: readonly Message[];
  readonly publishes?: unknown;
  readonly projects?: unknown;
  /** params of `deadLetter`, unchecked */
  readonly abandons?: readonly unknown[];
  /** actors to which the request is forwarded: they answer for this one */
  readonly hands?: readonly Address[];
  /** a forwarded request of another actor: it is answered, too */
  readonly replyTo?: ReplyRef;
  /** where it throws */
  readonly throws?: 'assign' | 'params' | 'guard' | 'odd error';
  /** ends the whole process without a message */
  readonly kills?: boolean;
  /** the place of a value that is no JSON */
  readonly odd?: { readonly what: string; readonly where: string };
  readonly keeps?: unknown;
  /** `arm`: delay of the timer; `work`: input of the effect */
  readonly ms?: number;
  readonly input?: unknown;
};

export type Known = {
  readonly self: Address;
  /** `type:n` of every message it applied */
  readonly seen: readonly string[];
  /** notices of the host, in order */
  readonly received: readonly Message[];
  readonly ms: number;
  readonly firedAt: number;
  readonly armedAt: number;
  readonly input: unknown;
  readonly keeps: unknown;
  readonly owed: readonly ReplyRef[];
};

type Event = Delivered<Do>;
const doing = (event: unknown): Event => event as Event;

const label = ({ type, n }: Do): string => (n === undefined ? type : `${type}:${n}`);
const bare = ({ meta: _, ...event }: Event): Message => event;

const outcomeOf = (event: unknown): Message => {
  const { output, error } = event as { output?: unknown; error?: ErrorData };
  if ((output as { endsProcess?: boolean } | undefined)?.endsProcess)
    process.kill(process.pid, 'SIGKILL');
  return error ? { type: 'failed', error } : { type: 'done', output };
};

const setupPuppet = setup({
  types: { context: {} as Known, events: {} as Event, input: {} as ActorInput },
  actors: {
    repeatable: effect<unknown, unknown>(),
    keyed: effect<unknown, unknown>(),
    limited: effect<unknown, unknown>(),
    once: effect<unknown, unknown>(),
    asking: effect<unknown, unknown>(),
  },
  actions: {
    ...hostActions,
    note: assign(({ context, event }): Partial<Known> => {
      const { throws, kills, odd, keeps = context.keeps, ms = context.ms, meta } = doing(event);
      if (kills) process.kill(process.pid, 'SIGKILL');
      if (throws === 'assign') throw new Error('asked to throw');
      if (throws === 'odd error')
        throw new TroupeError('CONFLICT', 'x'.repeat(10_000), {
          details: { odd: oddOf('circle') },
        });
      return {
        seen: [...context.seen, label(doing(event))],
        ms,
        armedAt: meta.now,
        input: odd?.where === 'input' ? oddOf(odd.what) : doing(event).input,
        keeps: odd?.where === 'context' ? oddOf(odd.what) : keeps,
      };
    }),
    receive: assign({
      received: ({ context, event }) => [...context.received, bare(doing(event))],
    }),
    receiveOutcome: assign({
      received: ({ context, event }) => [...context.received, outcomeOf(event)],
    }),
    fire: assign(({ context, event }): Partial<Known> => {
      const { meta } = doing(event);
      return { seen: [...context.seen, 'fired'], firedAt: meta.now };
    }),
    obey: enqueueActions(({ context, event, enqueue }) => {
      const { tells = [], appends, publishes, projects, throws, odd, meta } = doing(event);
      const { abandons = [], hands = [], replyTo } = doing(event);
      if (throws === 'params') throw new Error('asked to throw in params');
      for (const params of tells) enqueue({ type: 'tell', params: params as never });
      if (appends) enqueue({ type: 'append', params: { entries: appends } });
      if (publishes) enqueue({ type: 'publish', params: publishes as never });
      if (projects) enqueue({ type: 'project', params: projects as never });
      for (const params of abandons) enqueue({ type: 'deadLetter', params: params as never });
      for (const to of hands) {
        const handed = { type: 'do', n: 'handed', replyTo: meta.reply };
        enqueue({ type: 'tell', params: { to, event: handed } });
      }
      if (odd) doOdd(enqueue as never, context.self, odd);
      const { answer = context.seen, refuses } = doing(event);
      if (answer === 'never') return;
      if (refuses && context.seen.length < refuses.until)
        return enqueue({ type: 'reply', params: { to: meta.reply, error: refuses.error } });
      if (answer === 'later' && meta.reply) enqueue.assign({ owed: [...context.owed, meta.reply] });
      else enqueue({ type: 'reply', params: { to: replyTo ?? meta.reply, result: answer } });
    }),
    settle: enqueueActions(({ context, enqueue }) => {
      for (const to of context.owed)
        enqueue({ type: 'reply', params: { to, result: context.seen } });
      enqueue.assign({ owed: [] });
    }),
  },
  guards: {
    throwing: ({ event }) => {
      if (doing(event).throws === 'guard') throw new Error('asked to throw in a guard');
      return false;
    },
    keyed: ({ event }) => doing(event)['cls'] === 'keyed',
    once: ({ event }) => doing(event)['cls'] === 'once',
    limited: ({ event }) => doing(event)['cls'] === 'limited',
    asking: ({ event }) => doing(event)['cls'] === 'asking',
  },
  delays: { delay: ({ context }) => context.ms },
});

type Enqueue = (action: { type: string; params: unknown }) => void;

/** An ask with a value that cannot be stored. */
function doOdd(enqueue: Enqueue, self: Address, { what, where }: NonNullable<Do['odd']>): void {
  const value = oddOf(what);
  const event = { type: 'notify', value };
  if (where === 'tell') enqueue({ type: 'tell', params: { to: self, event } });
  if (where === 'append') enqueue({ type: 'append', params: { entries: [event] } });
  if (where === 'project')
    enqueue({ type: 'project', params: { index: 'things', key: 'odd', value } });
}

const invoke = (src: 'repeatable' | 'keyed' | 'limited' | 'once' | 'asking') =>
  ({
    id: src,
    src,
    input: ({ context }: { context: Known }) => context.input,
    onDone: { target: 'open', actions: 'receiveOutcome' },
    onError: { target: 'open', actions: 'receiveOutcome' },
  }) as const;

export const puppetMachine = setupPuppet.createMachine({
  id: 'puppet',
  context: ({ input }) => ({
    self: input.self,
    seen: [],
    received: [],
    ms: 0,
    firedAt: 0,
    armedAt: 0,
    input: null,
    keeps: null,
    owed: [],
  }),
  initial: 'open',
  on: {
    do: [{ guard: 'throwing' }, { actions: ['note', 'obey'] }],
    soft: { actions: ['note', 'obey'] },
    mild: { actions: ['note', 'obey'] },
    notify: { actions: 'note' },
    reply: { actions: 'receive' },
    refused: { actions: 'receive' },
    settle: { actions: ['note', 'settle'] },
    open: { target: '.open', actions: ['note', 'obey'] },
    close: { target: '.closed', actions: ['note', 'obey'] },
    half: { target: '.half', actions: ['note', 'obey'] },
    arm: { target: '.armed', reenter: true, actions: ['note', 'obey'] },
    end: { target: '.done', actions: ['note', 'obey'] },
    work: [
      { guard: 'keyed', target: '.keyed', actions: ['note', 'obey'] },
      { guard: 'limited', target: '.limited', actions: ['note', 'obey'] },
      { guard: 'once', target: '.once', actions: ['note', 'obey'] },
      { guard: 'asking', target: '.asking', actions: ['note', 'obey'] },
      { target: '.repeatable', actions: ['note', 'obey'] },
    ],
  },
  states: {
    open: {},
    /** defers `soft` and `mild` */
    closed: { meta: { defer: ['soft', 'mild'] } },
    /** defers `soft`, accepts `mild` */
    half: { meta: { defer: ['soft'] } },
    armed: { after: { delay: { target: 'open', actions: 'fire' } } },
    repeatable: { invoke: invoke('repeatable') },
    keyed: { invoke: invoke('keyed') },
    limited: { invoke: invoke('limited') },
    once: { invoke: invoke('once') },
    asking: { invoke: invoke('asking') },
    done: { type: 'final' },
  },
});

/** The outside world of effects, controlled by a test. */
export type Hands = {
  run(input: unknown, context: EffectContext): Promise<unknown>;
  reconcile?(
    input: unknown,
    context: EffectContext,
  ): Promise<{ outcome: unknown } | 'again' | 'ask'>;
};
const handsOf = ({ services }: EffectContext): Hands => services as Hands;
const run = (input: unknown, context: EffectContext) => handsOf(context).run(input, context);

export const puppetEffects = {
  repeatable: { class: 'repeatable', run },
  keyed: { class: 'keyed', run },
  /** ends at its time limit, unless the test settles it before */
  limited: { class: 'keyed', run, timeoutMs: 50 },
  /** without a hook: an operator decides */
  once: { class: 'once', run },
  asking: {
    class: 'once',
    run,
    reconcile: (input: unknown, context: EffectContext) =>
      handsOf(context).reconcile!(input, context),
  },
} as const;

type Changes = Partial<
  Pick<
    ActorOptions<typeof puppetMachine>,
    | 'type'
    | 'version'
    | 'mailbox'
    | 'supervision'
    | 'idleMs'
    | 'whenDone'
    | 'missedTimers'
    | 'workTimers'
    | 'history'
  >
>;

/** The actor type of the puppet, with the policies that a test needs. */
export const puppetType = (changes: Changes = {}): ActorDefinition =>
  defineActor({
    type: 'puppet',
    version: 1,
    machine: puppetMachine,
    effects: puppetEffects,
    ...changes,
  });

/**
 * Creates puppets and gives the orders that a test sends it; `policy` answers every crash at once.
 */
const bossMachine = setup({
  types: {
    context: {} as { received: readonly Message[]; policy: string | null },
    events: {} as Event,
    input: {} as ActorInput,
  },
  actions: {
    ...hostActions,
    receive: assign({ received: ({ context, event }) => [...context.received, bare(event)] }),
    keepPolicy: assign({ policy: ({ event }) => (event['policy'] as string) ?? null }),
  },
  guards: { hasPolicy: ({ context }) => context.policy !== null },
}).createMachine({
  id: 'boss',
  context: { received: [], policy: null },
  on: {
    create: {
      actions: [
        'keepPolicy',
        {
          type: 'tell',
          params: ({ event }) => ({
            to: event['child'] as Address,
            event: (event['first'] ?? { type: 'notify', n: 'created' }) as Message,
            supervise: true,
          }),
        },
      ],
    },
    order: {
      actions: {
        type: 'tell',
        params: ({ event }) => ({
          to: event['child'] as Address,
          event: { type: event['directive'] as string },
          lane: 'control' as const,
        }),
      },
    },
    reply: { actions: 'receive' },
    refused: { actions: 'receive' },
    'supervision.down': [
      {
        guard: 'hasPolicy',
        actions: [
          'receive',
          {
            type: 'tell',
            params: ({ context, event }) => ({
              to: event['child'] as Address,
              event: { type: context.policy! },
              lane: 'control' as const,
            }),
          },
        ],
      },
      { actions: 'receive' },
    ],
  },
});

export const bossType = (): ActorDefinition =>
  defineActor({ type: 'boss', version: 1, machine: bossMachine });
