/**
 * Each provider's real SDK against each shape of real streams: the events must be the same for
 * every protocol.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { createModelCatalog } from '../../../agent/models/catalog.ts';
import { systemClock as clock } from '../../../runtime/clock/clock.ts';
import {
  type ServedApi,
  type Shape,
  shapes,
  startModelServer,
} from '../../servers/model-server.ts';
import type { PlannedCall, ScriptedServer } from '../../servers/scripted-server.ts';
import { type Heard, hearAll, patient, request } from './provider-contract.ts';

const models: Readonly<Record<ServedApi, string>> = {
  'anthropic-messages': 'claude-sonnet-5-5',
  'openai-responses': 'gpt-5.5',
  'openai-completions': 'local-model',
  'google-generative-ai': 'gemini-3.1-pro-preview',
};

let server: ScriptedServer | undefined;
afterEach(() => server?.close());

const collect = async (api: ServedApi, shape: Shape): Promise<Heard> => {
  server = await startModelServer({ api, shape });
  const { baseUrl } = server;
  const catalog = createModelCatalog({ providers: { p: { api, baseUrl } } }, { clock });
  const { provider, model } = catalog.resolve(`p/${models[api]}`);
  const asked = request({ model: model.id, thinking: 'high' });
  return hearAll(provider.stream(asked, patient()));
};

const text = 'The actor reads mail.';
const calls = (shape: 'several tool calls' | 'tool call split over events' | 'slow bytes') =>
  (shapes[shape].calls as readonly PlannedCall[]).map(({ name, args }) => ({ name, args }));

/** The expected events; an `error` follows the text that arrived before it. */
const expected: Readonly<Record<Shape, Record<string, unknown>>> = {
  text: { text, stop: 'end', calls: [] },
  thinking: { text, stop: 'end', calls: [], reasoning: 'so then' },
  'several tool calls': { text: 'I look. ', stop: 'tools', calls: calls('several tool calls') },
  'tool call split over events': {
    text: '',
    stop: 'tools',
    calls: calls('tool call split over events'),
  },
  refusal: { text: 'I cannot ', stop: 'refusal', calls: [] },
  'max tokens': { text, stop: 'length', calls: [] },
  'slow bytes': { text, stop: 'tools', calls: calls('slow bytes') },
  overload: { text: '', error: 'UNAVAILABLE' },
  'overload by 529': { text: '', error: 'UNAVAILABLE' },
  'overload in the stream': { text, error: 'UNAVAILABLE' },
  'rate limit': { text: '', error: 'RATE_LIMIT_EXCEEDED', retryAfterMs: 7_000 },
  'cut stream': { text, error: 'UNAVAILABLE' },
  'stream without its end': { text, error: 'UNAVAILABLE' },
};

it.each(Object.keys(models) as ServedApi[])(
  'accepts calls of another provider, whatever their ids (%s)',
  async (api) => {
    server = await startModelServer({ api });
    const { baseUrl } = server;
    const catalog = createModelCatalog({ providers: { p: { api, baseUrl } } }, { clock });
    const { provider, model } = catalog.resolve(`p/${models[api]}`);
    const ids = ['functions.read:0', 'x'.repeat(90), 'call_1'];
    const asked = request({
      model: model.id,
      messages: [
        { role: 'user', text: 'go' },
        { role: 'assistant', text: '', calls: ids.map((id) => ({ id, name: 'f', args: {} })) },
        ...ids.map((callId) => ({
          role: 'tool' as const,
          callId,
          name: 'f',
          result: 'r',
          isError: false,
        })),
      ],
    });
    const heard = await hearAll(provider.stream(asked, patient()));
    expect(heard.error?.message).toBeUndefined();
    expect(heard.done).toHaveLength(1);
  },
);

describe.each(Object.keys(models) as ServedApi[])('%s', (api) => {
  it.each(Object.keys(shapes) as Shape[])('reads %s like every other provider', async (shape) => {
    const heard = await collect(api, shape);
    const [done] = heard.done;
    expect({
      text: heard.text,
      ...(done
        ? { stop: done.stop, calls: done.calls.map(({ name, args }) => ({ name, args })) }
        : { error: heard.error?.code }),
      ...(heard.error?.retryAfterMs === undefined
        ? {}
        : { retryAfterMs: heard.error.retryAfterMs }),
      ...(heard.reasoning === '' ? {} : { reasoning: heard.reasoning }),
    }).toEqual(expected[shape]);
    expect(server?.requests).toHaveLength(1); // the SDK made one attempt, as the port requires
    const ids = done?.calls.map(({ id }) => id) ?? [];
    expect(new Set(ids).size).toBe(ids.length);
  });
});
