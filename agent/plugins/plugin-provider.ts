/** A model provider of a plugin. Its answers stream, and are checked event by event. */
import { type Static, Type } from '@sinclair/typebox';
import { checker, describeErrors } from '../../protocols/check.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { type Answer, MalformedEvent } from '../models/answer.ts';
import { unknownModel } from '../models/known-models.ts';
import type { ModelProvider, ModelRequest, StreamOptions } from '../models/model.ts';
import { type CallClock, streamAnswer } from '../models/stream.ts';
import type { ProviderDeclaration } from './manifest.ts';
import type { Plugin } from './plugin.ts';

/** Longest answer of a model; its idle limit is shorter. */
const ANSWER_MS_MAX = 3_600_000;
/** Events that wait for the reader. */
const WAITING_MAX = 10_000;

const count = Type.Optional(Type.Integer({ minimum: 0 }));
const text = Type.String({ maxLength: 1_048_576 });
const shortText = Type.String({ minLength: 1, maxLength: 200 });
const only = { additionalProperties: false };

const ModelEvent = Type.Union([
  Type.Object({ type: Type.Literal('text'), delta: text }, only),
  Type.Object({ type: Type.Literal('reasoning'), delta: text }, only),
  Type.Object(
    { type: Type.Literal('call'), id: shortText, name: shortText, args: Type.Unknown() },
    only,
  ),
  Type.Object(
    {
      type: Type.Literal('usage'),
      inputTokens: count,
      outputTokens: count,
      cachedInputTokens: count,
      cacheWriteTokens: count,
    },
    only,
  ),
  Type.Object(
    {
      type: Type.Literal('stop'),
      stop: Type.Union(['end', 'tools', 'length', 'refusal'].map((word) => Type.Literal(word))),
    },
    only,
  ),
]);
type ModelEvent = Static<typeof ModelEvent>;
const checkEvent = checker(ModelEvent);

/** Written after the last event of a plugin. */
const END = Symbol('end');

export function pluginProvider(
  plugin: Plugin,
  { id, models }: ProviderDeclaration,
  clock: CallClock,
): ModelProvider {
  const failure = {
    provider: id,
    keyPath: `plugins.entries.${plugin.id}.secrets`,
    secrets: [],
    wallMs: () => clock.wallMs(),
  };
  return {
    id,
    models: models.map((model) => ({ ...unknownModel, ...model })),
    stream(request, options) {
      let calls = 0;
      const wire = {
        open: (signal: AbortSignal) =>
          Promise.resolve(eventsOf(plugin, id, request, options, signal)),
        read(event: unknown, answer: Answer) {
          if (event === END) answer.end();
          else readEvent(event, answer, () => calls++);
        },
      };
      return streamAnswer<unknown>(wire, options, failure, clock);
    },
  };
}

/** @throws MalformedEvent */
function readEvent(event: unknown, answer: Answer, nextCall: () => number): void {
  const checked = checkEvent(event);
  if (!checked.ok) throw new MalformedEvent(describeErrors(checked.errors));
  const { value } = checked;
  switch (value.type) {
    case 'text':
      return answer.text(value.delta);
    case 'reasoning':
      return answer.reasoning(value.delta);
    case 'call': {
      const key = nextCall();
      answer.openCall(key, value.id, value.name);
      return answer.wholeCallArgs(key, JSON.stringify(value.args) ?? '');
    }
    case 'usage': {
      const { type: _, ...usage } = value;
      return answer.usage(usage);
    }
    case 'stop':
      return answer.stop(value.stop as Parameters<Answer['stop']>[0]);
  }
}

/** The events of one call, in order, and END after its result. @throws what the call throws */
async function* eventsOf(
  plugin: Plugin,
  name: string,
  input: ModelRequest,
  { idempotencyKey }: StreamOptions,
  signal: AbortSignal,
): AsyncGenerator<unknown, void, undefined> {
  const waiting: unknown[] = [];
  let wake = () => {};
  let failure: { readonly error: unknown } | undefined;
  const add = (event: unknown) => {
    waiting.push(event);
    wake();
  };
  const overflow = new AbortController();
  const call = {
    kind: 'provider',
    name,
    input,
    about: { idempotencyKey },
    timeoutMs: ANSWER_MS_MAX,
    signal: AbortSignal.any([signal, overflow.signal]),
    onEvent: (event: unknown) => (waiting.length < WAITING_MAX ? add(event) : overflow.abort()),
  } as const;
  plugin.call(call).then(
    () => add(END),
    (error: unknown) => {
      failure = { error: overflow.signal.aborted ? tooFast(name) : error };
      wake();
    },
  );
  for (;;) {
    while (waiting.length > 0) yield waiting.shift();
    if (failure) throw failure.error;
    await new Promise<void>((resolve) => (wake = resolve));
  }
}

const tooFast = (name: string): TroupeError =>
  new TroupeError('INTERNAL', `Model provider ${name} sends events faster than they are read`);
