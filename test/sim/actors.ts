/**
 * Actors of the simulation: one machine that executes its messages, under several types with
 * different policies, and a supervisor. A message is a small program (`Command`), so the seed
 * decides about senders and receivers, waits, failures and crashes.
 *
 * Every applied message, timer and outcome is counted in the context and its id is stored, so that
 * the auditor can compare the stored state with the turns.
 */
import { assign, enqueueActions, setup } from 'xstate';
import type { Address } from '../../protocols/address.ts';
import {
  type ActorInput,
  effect,
  hostActions,
  type Delivered,
  type Message,
  type ReplyRef,
  type Tell,
} from '../../protocols/statechart.ts';
import { type ActorDefinition, defineActor, type EffectDefinition } from '../../runtime/index.ts';

/** One command of an actor. `soft` waits while the actor is busy, `hard` never waits. */
export type Command = Message & {
  readonly type: 'hard' | 'soft' | 'arm' | 'do' | 'cancel' | 'finish';
  /** messages that the receiver sends on when it applies this one */
  readonly tells?: readonly Onward[];
  /** `arm`: until the timer; `do`: how long the effect works */
  readonly ms?: number;
  /** `do`: the class of the effect */
  readonly cls?: 'repeatable' | 'keyed' | 'once';
  /** `do`: the effect's work fails */
  readonly fails?: boolean;
  /** the transition throws */
  readonly throws?: boolean;
  /** the transition ends the process */
  readonly kills?: boolean;
  /** when the asker is answered; default `now` */
  readonly answer?: 'now' | 'later' | 'never';
  /** publishes to watchers */
  readonly publishes?: boolean;
  /** entries for the transcript */
  readonly appends?: number;
};
export type Onward = Omit<Tell, 'event'> & { readonly event: Command };

/** What the auditor reads of an actor's stored context. */
export type Tally = {
  /** inputs applied in this life */
  readonly n: number;
  /** id of the last one */
  readonly last: string;
  /** messages sent to actors, without replies */
  readonly sent: number;
  readonly armed: number;
  readonly fired: number;
  readonly cancelled: number;
  readonly begun: number;
  readonly ended: number;
  readonly aborted: number;
};

type Context = Tally & {
  self: Address;
  armedAt: number;
  ms: number;
  call: Call;
  owed: readonly ReplyRef[];
};

/** Input of every effect. */
export type Call = { readonly of: string; readonly ms: number; readonly fails: boolean };
/** What the actor answers: its count when it did, so that an answer can be found in the turns. */
export type Answer = { readonly actor: Address; readonly n: number; readonly of: string };

/**
 * Ends the processes that own the actor; set by the cluster. Nothing else of a machine is impure.
 */
export const killer: { kill: (actor: Address) => void } = { kill: () => {} };

type Event = Delivered<
  | Command
  | (Message & { type: 'reply' | 'refused'; to: string })
  | (Message & { type: 'supervision.down'; child: Address; crashes: number })
>;
const command = (event: unknown): Delivered<Command> => event as Delivered<Command>;

const machine = setup({
  types: { context: {} as Context, events: {} as Event, input: {} as ActorInput },
  actors: {
    repeatable: effect<Answer, Call>(),
    keyed: effect<Answer, Call>(),
    once: effect<Answer, Call>(),
  },
  actions: {
    ...hostActions,
    count: assign(({ context, event }): Partial<Context> => {
      const { kills, throws, tells = [] } = command(event);
      if (kills) killer.kill(context.self);
      if (throws) throw new Error(`asked to throw by ${command(event).meta.id}`);
      return { n: context.n + 1, last: command(event).meta.id, sent: context.sent + tells.length };
    }),
    countArmed: assign({
      armed: ({ context }) => context.armed + 1,
      armedAt: ({ event }) => command(event).meta.now,
      ms: ({ event }) => command(event).ms ?? 0,
    }),
    countFired: assign(({ context, event }): Partial<Context> => {
      const { now } = command(event).meta;
      if (now < context.armedAt + context.ms) throw new Error(`fired at ${now}, too early`);
      return { fired: context.fired + 1 };
    }),
    countCancelled: assign({ cancelled: ({ context }) => context.cancelled + 1 }),
    countBegun: assign(({ context, event }): Partial<Context> => {
      const { meta, ms = 0, fails = false } = command(event);
      return { begun: context.begun + 1, call: { of: meta.id, ms, fails } };
    }),
    countEnded: assign({ ended: ({ context }) => context.ended + 1 }),
    countAborted: assign({ aborted: ({ context }) => context.aborted + 1 }),
    obey: enqueueActions(({ context, event, enqueue }) => {
      const { meta, tells = [], answer = 'now', publishes, appends = 0 } = command(event);
      const given: Answer = { actor: context.self, n: context.n, of: meta.id };
      for (const tell of tells) enqueue({ type: 'tell', params: tell });
      if (publishes)
        enqueue({ type: 'publish', params: { topic: 'sim', event: { type: 'seen', ...given } } });
      const entries = Array.from({ length: appends }, (_, i) => ({ type: 'entry', i, ...given }));
      if (appends > 0) enqueue({ type: 'append', params: { entries } });
      enqueue({ type: 'project', params: { index: 'tally', key: context.self, value: given } });
      if (!meta.reply) return;
      if (answer === 'now') enqueue({ type: 'reply', params: { to: meta.reply, result: given } });
      else if (answer === 'later') enqueue.assign({ owed: [...context.owed, meta.reply] });
    }),
    settle: enqueueActions(({ context, event, enqueue }) => {
      if (context.owed.length === 0) return;
      const { meta } = command(event);
      const given: Answer = { actor: context.self, n: context.n, of: meta.id };
      for (const to of context.owed) enqueue({ type: 'reply', params: { to, result: given } });
      enqueue.assign({ owed: [] });
    }),
    direct: enqueueActions(({ context, event, enqueue }) => {
      const { child, crashes } = event as Delivered<Message & { child: Address; crashes: number }>;
      const directive = DIRECTIVES[(child.length + crashes) % DIRECTIVES.length]!;
      enqueue.assign({ sent: context.sent + 1 });
      enqueue({ type: 'tell', params: { to: child, event: { type: directive } } });
    }),
  },
  guards: {
    isKeyed: ({ event }) => command(event).cls === 'keyed',
    isOnce: ({ event }) => command(event).cls === 'once',
  },
  delays: { wait: ({ context }) => context.ms },
}).createMachine({
  id: 'sim',
  context: ({ input }) => ({
    self: input.self,
    n: 0,
    last: '',
    sent: 0,
    armed: 0,
    fired: 0,
    cancelled: 0,
    begun: 0,
    ended: 0,
    aborted: 0,
    armedAt: 0,
    ms: 0,
    call: { of: '', ms: 0, fails: false },
    owed: [],
  }),
  initial: 'idle',
  on: {
    hard: { actions: ['count', 'obey'] },
    soft: { actions: ['count', 'obey'] },
    cancel: { actions: ['count', 'obey'] },
    reply: { actions: 'count' },
    refused: { actions: 'count' },
    'supervision.down': { actions: ['count', 'direct'] },
    finish: { target: '.done', actions: ['count', 'obey'] },
  },
  states: {
    idle: {
      entry: 'settle',
      on: {
        arm: { target: 'waiting', actions: ['count', 'countArmed', 'obey'] },
        do: [
          { guard: 'isKeyed', target: 'keyed', actions: ['count', 'countBegun', 'obey'] },
          { guard: 'isOnce', target: 'once', actions: ['count', 'countBegun', 'obey'] },
          { target: 'repeatable', actions: ['count', 'countBegun', 'obey'] },
        ],
      },
    },
    waiting: {
      meta: { defer: ['soft', 'do'] },
      after: { wait: { target: 'idle', actions: ['count', 'countFired'] } },
      on: {
        arm: {
          target: 'waiting',
          reenter: true,
          actions: ['count', 'countCancelled', 'countArmed', 'obey'],
        },
        cancel: { target: 'idle', actions: ['count', 'countCancelled', 'obey'] },
        finish: { target: 'done', actions: ['count', 'countCancelled', 'obey'] },
      },
    },
    repeatable: {
      meta: { defer: ['soft', 'do', 'arm'] },
      invoke: {
        src: 'repeatable',
        id: 'repeatable',
        input: ({ context }) => context.call,
        onDone: { target: 'idle', actions: ['count', 'countEnded'] },
        onError: { target: 'idle', actions: ['count', 'countEnded'] },
      },
      on: {
        cancel: { target: 'idle', actions: ['count', 'countAborted', 'obey'] },
        finish: { target: 'done', actions: ['count', 'countAborted', 'obey'] },
      },
    },
    keyed: {
      meta: { defer: ['soft', 'do', 'arm'] },
      invoke: {
        src: 'keyed',
        id: 'keyed',
        input: ({ context }) => context.call,
        onDone: { target: 'idle', actions: ['count', 'countEnded'] },
        onError: { target: 'idle', actions: ['count', 'countEnded'] },
      },
      on: {
        cancel: { target: 'idle', actions: ['count', 'countAborted', 'obey'] },
        finish: { target: 'done', actions: ['count', 'countAborted', 'obey'] },
      },
    },
    once: {
      meta: { defer: ['soft', 'do', 'arm'] },
      invoke: {
        src: 'once',
        id: 'once',
        input: ({ context }) => context.call,
        onDone: { target: 'idle', actions: ['count', 'countEnded'] },
        onError: { target: 'idle', actions: ['count', 'countEnded'] },
      },
      on: {
        cancel: { target: 'idle', actions: ['count', 'countAborted', 'obey'] },
        finish: { target: 'done', actions: ['count', 'countAborted', 'obey'] },
      },
    },
    done: { type: 'final', entry: 'settle' },
  },
});

const DIRECTIVES = [
  'sys.resume',
  'sys.restart',
  'sys.resume',
  'sys.stop',
  'sys.quarantine',
] as const;

/** The services of an effect (`context.services`): the outside world as one process reaches it. */
export type World = {
  /** works for this time; never resolves in a process that died */
  work(id: string, attempt: number, cls: string, call: Call): Promise<Answer>;
  /** the outcome of an attempt of a `once` effect */
  recall(id: string): { outcome: Answer } | 'again' | 'ask';
};

const effectOf = (cls: 'repeatable' | 'keyed' | 'once'): EffectDefinition<Call, Answer> => ({
  class: cls,
  run: (call, context) => (context.services as World).work(context.id, context.attempt, cls, call),
  ...(cls === 'once' && {
    reconcile: async (_: Call, context) => (context.services as World).recall(context.id),
  }),
});

const effects = {
  repeatable: effectOf('repeatable'),
  keyed: effectOf('keyed'),
  once: effectOf('once'),
};

const typed = (
  type: string,
  options: Partial<Pick<ActorDefinition, 'mailbox' | 'supervision' | 'idleMs' | 'whenDone'>>,
): ActorDefinition => defineActor({ type, version: 1, machine, effects, ...options });

/** Types by their special property; all accept the same messages. */
export const simActors: readonly ActorDefinition[] = [
  typed('plain', { idleMs: 1_000 }),
  typed('reject', { mailbox: { capacity: 2, whenFull: 'reject' } }),
  typed('defer', { mailbox: { capacity: 1, whenFull: 'defer' }, idleMs: 0 }),
  typed('coalesce', { mailbox: { capacity: 3, whenFull: 'coalesce' } }),
  typed('drop', { mailbox: { capacity: 2, whenFull: 'dropOldest' } }),
  typed('resume', { supervision: { onThrow: 'resume' } }),
  typed('frail', { supervision: { onThrow: 'quarantine' } }),
  typed('brief', { whenDone: 'forget' }),
  typed('boss', {}),
];
export const SIM_TYPES = simActors.map(({ type }) => type).filter((type) => type !== 'boss');
