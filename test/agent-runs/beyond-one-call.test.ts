/**
 * A run for which one model or one request does not suffice, over each provider's real SDK: it
 * fails over to the next model, compacts a conversation that is too long and repeats the call, and
 * stops at a limit.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ServedApi, shapes, startModelServer } from '../servers/model-server.ts';
import type { Plan, SeenRequest } from '../servers/scripted-server.ts';
import { install, MODELS, PRICE, providerOf } from './installation.ts';

const APIS = Object.keys(MODELS) as ServedApi[];
const SESSION = 'agent:main:main';
const TEXT = 'The actor reads mail.';

const served = async (api: ServedApi) => {
  const server = await startModelServer({ api });
  onTestFinished(() => server.close());
  return server;
};

const FIRST_FAILS: Readonly<Record<string, Plan>> = {
  'is overloaded': shapes['overload by 529'],
  'is limited in its rate': shapes['rate limit'],
  'is cut off in the middle': shapes['cut stream'],
  'reports an overload in the middle': shapes['overload in the stream'],
  'sends an event that is broken': { kind: 'malformed', deltas: ['The '], form: 'json' },
  'has no money left': { kind: 'refuse', status: 402, type: 'billing_error' },
  'does not know the model': { kind: 'refuse', status: 404, type: 'not_found_error' },
};

describe.each(APIS)('a chain of models that begins on %s', (api) => {
  const next = APIS[(APIS.indexOf(api) + 1) % APIS.length]!;

  it.each(Object.keys(FIRST_FAILS))(
    'continues with the next model when the first %s',
    async (what) => {
      const [first, second] = [await served(api), await served(next)];
      const troupe = await install({
        config: {
          models: {
            providers: { first: providerOf(api, first), second: providerOf(next, second) },
          },
          agents: {
            defaults: { model: `first/${MODELS[api]}`, fallbacks: [`second/${MODELS[next]}`] },
          },
        },
      });
      first.script(FIRST_FAILS[what]!);
      second.otherwise(shapes.text);
      const ended = await troupe.run(SESSION, 'what is it?');
      const model = `second/${MODELS[next]}`;
      expect(ended.row).toMatchObject({ status: 'ok', text: TEXT, model });
      expect(ended.answers).toMatchObject([{ text: TEXT, model }]);
      // the text of the first model is withdrawn
      expect(ended.watched).toEqual([TEXT]);
      expect(first.requests).toHaveLength(1);
      expect(second.requests).toHaveLength(1);
      expect(ended.row.usage).toMatchObject({ inputTokens: 11, outputTokens: 7 });
    },
  );
});

it('a wait longer than the limit ends the run, with its duration in the error', async () => {
  const server = await served('anthropic-messages');
  const troupe = await install({
    config: { models: { providers: { p: providerOf('anthropic-messages', server) } } },
  });
  server.otherwise({ kind: 'refuse', status: 429, headers: { 'retry-after': '3600' } });
  const { row } = await troupe.run(SESSION, 'what is it?');
  expect(row).toMatchObject({
    status: 'error',
    error: { code: 'RATE_LIMIT_EXCEEDED', retryAfterMs: 3_600_000 },
  });
  expect(server.requests).toHaveLength(1);
});

it('a chain whose models are all overloaded is retried, and the first available one answers', async () => {
  const [first, second] = [await served('openai-responses'), await served('anthropic-messages')];
  const troupe = await install({
    config: {
      models: {
        providers: {
          first: providerOf('openai-responses', first),
          second: providerOf('anthropic-messages', second),
        },
      },
      agents: {
        defaults: {
          model: `first/${MODELS['openai-responses']}`,
          fallbacks: [`second/${MODELS['anthropic-messages']}`],
        },
      },
    },
  });
  for (const server of [first, second]) {
    server.script(shapes.overload);
    server.otherwise(shapes.text);
  }
  const ended = await troupe.run(SESSION, 'what is it?');
  expect(ended.row).toMatchObject({ status: 'ok', text: TEXT });
  expect(ended.answers).toHaveLength(1);
  expect(first.requests.length + second.requests.length).toBe(3);
});

/** How each provider reports that a request is too long: status, type, message. */
const TOO_LONG: Readonly<Record<ServedApi, Plan>> = {
  'anthropic-messages': {
    kind: 'refuse',
    status: 400,
    type: 'invalid_request_error',
    message: 'prompt is too long: 215301 tokens > 200000 maximum',
  },
  'openai-responses': {
    kind: 'refuse',
    status: 400,
    type: 'context_length_exceeded',
    message: 'Your input exceeds the context window of this model. Please adjust your input.',
  },
  'openai-completions': {
    kind: 'refuse',
    status: 400,
    type: 'invalid_request_error',
    message: "This model's maximum context length is 8192 tokens. However, you requested 9001.",
  },
  'google-generative-ai': {
    kind: 'refuse',
    status: 400,
    type: 'INVALID_ARGUMENT',
    message:
      'The input token count (1200345) exceeds the maximum number of tokens allowed (1048576).',
  },
};

const bodyOf = ({ body }: SeenRequest): string => JSON.stringify(body);
const isSummary = (request: SeenRequest) => bodyOf(request).includes('Sum up the conversation');
const isNotes = (request: SeenRequest) => bodyOf(request).includes('You keep the notes');
const isShort = (request: SeenRequest) => bodyOf(request).includes('This conversation was longer');

describe.each(APIS)('a conversation that is too long on %s', (api) => {
  it('is compacted with its notes saved, and the call is repeated in the same run', async () => {
    const server = await served(api);
    const troupe = await install({
      config: { models: { providers: { p: providerOf(api, server) } } },
      files: { 'AGENTS.md': 'The password of the club is rule-4711.' },
    });
    server.otherwise((request) => {
      if (isSummary(request)) return { kind: 'answer', deltas: ['They spoke of ', 'tea.'] };
      if (isNotes(request)) return { kind: 'answer', deltas: ['- Ann likes green tea'] };
      if (bodyOf(request).includes('the last straw') && !isShort(request)) return TOO_LONG[api];
      return shapes.text;
    });
    for (const n of [1, 2, 3]) await troupe.run(SESSION, `Ann: tea number ${n}, please`);
    const before = troupe.sessionRow(SESSION)!.usage;
    const ended = await troupe.run(SESSION, 'the last straw');

    expect(ended.row).toMatchObject({ status: 'ok', text: TEXT });
    const types = ended.entries.map(({ type }) => type);
    expect(types).toEqual(['user', 'compaction', 'assistant', 'run.end']);
    const summary = ended.entries.find(({ type }) => type === 'compaction');
    expect(summary).toMatchObject({ summary: expect.stringContaining('spoke of tea') as string });
    const phases = ended.events.flatMap((one) => (one.stream === 'compaction' ? [one] : []));
    expect(phases).toMatchObject([
      { phase: 'start', call: 0, willRetry: true },
      { phase: 'end', call: 0, willRetry: true },
    ]);

    // the model that answered read the summary and the message, but not the messages that the
    // summary replaces
    const answered = bodyOf(server.requests.at(-1)!);
    expect(answered).toContain('They spoke of tea.');
    expect(answered).toContain('the last straw');
    expect(answered).not.toContain('tea number 1');
    expect(answered).toContain('rule-4711');

    // two calls of the compaction and one that answered; the refused call costs nothing
    const cost = (3 * (11 * PRICE.input + 7 * PRICE.output)) / 1e6;
    expect(ended.row.usage).toEqual({
      inputTokens: 33,
      outputTokens: 21,
      costUsd: expect.closeTo(cost, 12) as number,
    });
    expect(troupe.sessionRow(SESSION)?.usage.inputTokens).toBe(before.inputTokens + 33);

    const memory = join(troupe.workspace(), 'memory');
    const logs = readdirSync(memory).map((name) => readFileSync(join(memory, name), 'utf8'));
    expect(logs.join('\n').match(/Ann likes green tea/g)).toHaveLength(1);

    const after = await troupe.run(SESSION, 'and now?');
    expect(after.row.status).toBe('ok');
    expect(bodyOf(server.requests.at(-1)!)).toContain('They spoke of tea.');
    expect(bodyOf(server.requests.at(-1)!)).toContain('rule-4711');
  });

  it('ends with advice for the user when there is nothing to compact', async () => {
    const server = await served(api);
    const troupe = await install({
      config: { models: { providers: { p: providerOf(api, server) } } },
    });
    server.otherwise(TOO_LONG[api]);
    const { row } = await troupe.run(SESSION, 'a message that is a book');
    expect(row).toMatchObject({ status: 'error', error: { code: 'INVALID_ARGUMENT' } });
    expect(row.error?.message).toMatch(/send a shorter message, or start a new conversation/);
  });
});
