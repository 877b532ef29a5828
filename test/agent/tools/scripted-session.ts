/**
 * A session that answers by a script of the test, on a real embedded system. The test sees the
 * requests of tools as the session receives them, and the results of tools as the model receives
 * them.
 */
import { onTestFinished } from 'vitest';
import { assign, setup } from 'xstate';
import type { Tool, ToolContext, ToolResult } from '../../../agent/tools/tool.ts';
import { type Address, address } from '../../../protocols/address.ts';
import { defined } from '../../../protocols/defined.ts';
import type { ErrorData } from '../../../protocols/errors.ts';
import {
  type Delivered,
  hostActions,
  type Message,
  type Reply,
} from '../../../protocols/statechart.ts';
import { createSystem, defineActor, openEmbedded, type System } from '../../../runtime/index.ts';
import { dataFolder } from '../../channels/gateway/real-system.ts';
import { OPEN_TALK } from '../../servers/talk-rules.ts';
import { toolContext } from './context.ts';

/** The answer to the next request; 'later': after the event `answer`. */
type Script = { readonly result?: unknown; readonly error?: ErrorData } | 'later';

type Heard = {
  readonly script: Script;
  readonly asked: readonly Message[];
  readonly waiting: Reply['to'];
};

type Incoming = Delivered<Message & { readonly script?: Script; readonly row?: Row }>;

/** The answer of a script; undefined if it follows later. */
const saidTo = (to: Reply['to'], script: Script = 'later'): Reply =>
  script === 'later' ? { to, result: null } : { to, ...script };

const scripted = setup({
  types: { context: {} as Heard, events: {} as Incoming },
  actions: {
    ...hostActions,
    learn: assign({ script: ({ context, event }) => event.script ?? context.script }),
    record: assign({
      asked: ({ context, event: { meta: _, ...event } }) => [...context.asked, event],
      waiting: ({ event }) => event.meta.reply,
    }),
  },
  guards: { isNow: ({ context }) => context.script !== 'later' },
}).createMachine({
  id: 'scripted',
  context: { script: 'later', asked: [], waiting: undefined },
  initial: 'up',
  states: {
    up: {
      on: {
        'test.script': {
          actions: [
            'learn',
            { type: 'reply', params: ({ event }) => ({ to: event.meta.reply, result: null }) },
          ],
        },
        'test.row': {
          actions: [
            {
              type: 'project',
              params: ({ event }) => ({
                index: event.row!.index,
                key: event.row!.key,
                value: event.row!.row,
              }),
            },
            { type: 'reply', params: ({ event }) => ({ to: event.meta.reply, result: null }) },
          ],
        },
        'test.answer': {
          actions: [
            {
              type: 'reply',
              params: ({ context, event }) => saidTo(context.waiting, event.script),
            },
            { type: 'reply', params: ({ event }) => ({ to: event.meta.reply, result: null }) },
          ],
        },
        '*': [
          {
            guard: 'isNow',
            actions: [
              'record',
              {
                type: 'reply',
                params: ({ context, event }) => saidTo(event.meta.reply, context.script),
              },
            ],
          },
          { actions: 'record' },
        ],
      },
    },
  },
});

type Row = { readonly index: string; readonly key: string; readonly row: object };
const principal = { sub: 'agents', roles: ['operator'] };

export type Stage = {
  readonly system: System;
  readonly session: Address;
  /** One call, as in a model's answer. */
  call(tool: Tool, args: object, over?: Partial<ToolContext>): Promise<Outcome>;
  /** to the session, or to the actor of a subagent */
  script(script: Script, to?: Address): Promise<void>;
  answer(script: Script): Promise<void>;
  row(row: Row): Promise<void>;
  /** the requests of tools until now, including those that timed out */
  asks(): number;
  /** the requests that the session, or the actor of a subagent, has received until now */
  asked(of?: Address): readonly Message[];
};
/** A result that is JSON. */
export type Outcome = {
  readonly said: Record<string, unknown>;
  readonly isError: boolean;
  readonly ends?: readonly string[];
};

export const outcomeOf = ({ text, isError = false, ends }: ToolResult): Outcome => ({
  said: JSON.parse(text) as Record<string, unknown>,
  isError,
  ...defined({ ends }),
});

/** `askMs`: how long one ask waits. */
export async function stage(askMs = 15_000): Promise<Stage> {
  const folder = dataFolder();
  const actors = ['session', 'subagent'].map((type) =>
    defineActor({ type, version: 1, machine: scripted }),
  );
  const system = await createSystem({
    ...(await openEmbedded({ path: folder.path })),
    actors,
    shards: 2,
  });
  onTestFinished(async () => {
    await system.stop();
    folder.remove();
  });
  const session = address('default', 'session', 'agent:main:main');
  const tell = async (to: Address, event: Message) => {
    const answer = await system.ask(to, event, { principal, timeoutMs: 15_000 });
    if (answer.kind !== 'answered') throw new Error(`no answer: ${JSON.stringify(answer)}`);
  };
  let calls = 0;
  let asks = 0;
  return {
    system,
    session,
    async call(tool, args, over = {}) {
      const context = toolContext({
        idempotencyKey: `call-${++calls}`,
        talk: OPEN_TALK,
        system: {
          ask: (to, event, options) => {
            asks++;
            return system.ask(to, event, { principal, ...options, timeoutMs: askMs });
          },
          index: () => Promise.resolve(system.index),
          transcript: () => {
            throw new Error('this test has no transcript');
          },
        },
        ...over,
      });
      return outcomeOf(await tool.run(args, context));
    },
    script: (script, to = session) => tell(to, { type: 'test.script', script }),
    answer: (script) => tell(session, { type: 'test.answer', script }),
    row: (row) => tell(session, { type: 'test.row', row }),
    asks: () => asks,
    asked: (of = session) => (system.inspect(of)?.context as Heard | undefined)?.asked ?? [],
  };
}
