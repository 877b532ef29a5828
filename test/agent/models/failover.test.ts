import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createModelCatalog, type ModelSettings } from '../../../agent/models/catalog.ts';
import {
  type FailoverDone,
  type FailoverEvent,
  streamWithFailover,
} from '../../../agent/models/failover.ts';
import type { ModelRequest } from '../../../agent/models/model.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { startAnthropicServer } from '../../servers/anthropic-server.ts';
import { startOpenAiServer } from '../../servers/openai-server.ts';
import type { Plan, ScriptedServer } from '../../servers/scripted-server.ts';
import { ManualClock } from './manual-clock.ts';
import { options, request } from './provider-contract.ts';

let first: ScriptedServer;
let second: ScriptedServer;
let clock: ManualClock;
beforeEach(async () => {
  first = await startAnthropicServer();
  second = await startOpenAiServer();
  clock = new ManualClock();
});
afterEach(async () => {
  await first.close();
  await second.close();
});

const settings = (): ModelSettings => ({
  providers: {
    first: {
      api: 'anthropic-messages',
      baseUrl: first.baseUrl,
      apiKey: 'key-of-the-first',
      profiles: [{ id: 'spare', apiKey: 'key-of-the-spare' }],
      models: [{ id: 'claude-sonnet-5-5', price: { input: 1_000, output: 2_000 } }],
    },
    second: {
      api: 'openai-completions',
      baseUrl: second.baseUrl,
      models: [{ id: 'qwen' }],
    },
  },
});

type Outcome = {
  text: string;
  restarts: number;
  done?: FailoverDone;
  error?: TroupeError;
};

const run = async (
  catalog = createModelCatalog(settings(), { clock }),
  names: readonly string[] = ['first/claude-sonnet-5-5', 'second/qwen'],
  more: Partial<ModelRequest> = {},
): Promise<Outcome> => {
  const outcome: Outcome = { text: '', restarts: 0 };
  const { model: _, ...asked } = request(more);
  const record = (event: FailoverEvent) => {
    if (event.kind === 'text') outcome.text += event.delta;
    else if (event.kind === 'done') outcome.done = event;
    else if (event.kind === 'restart') {
      outcome.restarts++;
      outcome.text = '';
    }
  };
  try {
    for await (const event of streamWithFailover(catalog, names, asked, options())) record(event);
  } catch (error) {
    if (!(error instanceof TroupeError)) throw error;
    outcome.error = error;
  }
  return outcome;
};

const keysSeen = () =>
  first.requests.map(({ headers }) => headers.authorization?.replace('Bearer ', ''));

describe('failover', () => {
  it('uses only the first model when it answers, and reports the cost', async () => {
    const outcome = await run();
    expect(outcome).toMatchObject({ text: 'ok', restarts: 0 });
    expect(outcome.done?.model).toBe('first/claude-sonnet-5-5');
    // 11 tokens in at $1,000 a million, 7 out at $2,000
    expect(outcome.done?.costUsd).toBeCloseTo(0.011 + 0.014, 10);
    expect(second.requests).toHaveLength(0);
  });

  it('tries the next key, then the next model, and skips what failed', async () => {
    const catalog = createModelCatalog(settings(), { clock });
    const limited: Plan = { kind: 'refuse', status: 429, headers: { 'retry-after': '20' } };
    first.script(limited, limited);
    const outcome = await run(catalog);
    expect(keysSeen()).toEqual(['key-of-the-first', 'key-of-the-spare']);
    expect(outcome.done?.model).toBe('second/qwen');
    expect(outcome.done).not.toHaveProperty('costUsd'); // its price is unknown
    expect(outcome.restarts).toBe(0); // no text had been published
    expect((await run(catalog)).done?.model).toBe('second/qwen');
    expect(first.requests).toHaveLength(2);
    clock.advance(20_000);
    expect((await run(catalog)).done?.model).toBe('first/claude-sonnet-5-5');
  });

  it.each<Plan>([
    { kind: 'cut', deltas: ['half an '] },
    { kind: 'endEarly', deltas: ['half an '] },
    { kind: 'errorEvent', deltas: ['half an '], type: 'overloaded_error', message: 'busy' },
    { kind: 'malformed', deltas: ['half an '], form: 'json' },
  ])('begins again after an answer that broke off ($kind)', async (plan) => {
    first.script(plan);
    const outcome = await run();
    expect(outcome.restarts).toBe(1);
    expect(outcome.text).toBe('ok');
    expect(outcome.done).toMatchObject({ text: 'ok', model: 'first/claude-sonnet-5-5' });
    expect(keysSeen()).toEqual(['key-of-the-first', 'key-of-the-spare']);
  });

  it('does not fail over on context overflow', async () => {
    first.script({ kind: 'refuse', status: 400, message: 'prompt is too long: 9 > 8' });
    const outcome = await run();
    expect(outcome.error).toMatchObject({
      code: 'INVALID_ARGUMENT',
      details: { reason: 'context_length' },
    });
    expect(keysSeen()).toHaveLength(1);
    expect(second.requests).toHaveLength(0);
    first.script({ kind: 'refuse', status: 413, type: 'request_too_large' });
    expect((await run()).error?.code).toBe('PAYLOAD_TOO_LARGE');
    expect(second.requests).toHaveLength(0);
  });

  it('does not fail over on cancellation', async () => {
    const abort = new AbortController();
    first.script({ kind: 'stall', deltas: ['a'] });
    const catalog = createModelCatalog(settings(), { clock });
    const { model: _, ...asked } = request();
    const names = ['first/claude-sonnet-5-5', 'second/qwen'];
    const stream = streamWithFailover(catalog, names, asked, options({ signal: abort.signal }));
    const all = async () => {
      for await (const event of stream) if (event.kind === 'text') abort.abort();
    };
    await expect(all()).rejects.toMatchObject({ code: 'CANCELLED' });
    expect([first.requests.length, second.requests.length]).toEqual([1, 0]);
  });

  it('tries another model, but no other key, after an invalid request', async () => {
    first.script({
      kind: 'refuse',
      status: 404,
      type: 'not_found_error',
      message: 'no such model',
    });
    const outcome = await run();
    expect(outcome.done?.model).toBe('second/qwen');
    expect(keysSeen()).toEqual(['key-of-the-first']);
    // no model cools down, because the refusal concerned this request only
    expect((await run()).done?.model).toBe('first/claude-sonnet-5-5');
  });

  it('fails with every attempt in its message and the code of a retriable one', async () => {
    first.script({ kind: 'refuse', status: 401 }, { kind: 'refuse', status: 402 });
    second.script({
      kind: 'refuse',
      status: 503,
      message: 'full',
      headers: { 'retry-after': '4' },
    });
    const { error } = await run();
    expect(error).toMatchObject({ code: 'UNAVAILABLE', retryAfterMs: 4_000 });
    expect(error?.message).toContain('first/claude-sonnet-5-5 (profile default): UNAUTHORIZED');
    expect(error?.message).toContain('first/claude-sonnet-5-5 (profile spare): FORBIDDEN');
    expect(error?.message).toContain('second/qwen: UNAVAILABLE');
    expect(error?.details?.attempts).toHaveLength(3);
    expect(JSON.stringify(error?.toData())).not.toMatch(/key-of-the/);
  });

  it('keeps the error of a single candidate unchanged', async () => {
    second.script({ kind: 'refuse', status: 503, message: 'full' });
    const { error } = await run(undefined, ['second/qwen']);
    expect(error?.code).toBe('UNAVAILABLE');
    expect(error?.details).not.toHaveProperty('attempts');
  });

  it('tries only the candidate that is ready soonest when all cool down', async () => {
    const catalog = createModelCatalog(settings(), { clock });
    const wait = (seconds: number): Plan => ({
      kind: 'refuse',
      status: 429,
      headers: { 'retry-after': String(seconds) },
    });
    first.script(wait(50), wait(10));
    second.script(wait(30));
    expect((await run(catalog)).error).toMatchObject({
      code: 'RATE_LIMIT_EXCEEDED',
      retryAfterMs: 10_000,
    });
    const outcome = await run(catalog);
    expect(outcome.done?.model).toBe('first/claude-sonnet-5-5');
    expect(keysSeen().at(-1)).toBe('key-of-the-spare');
    expect(second.requests).toHaveLength(1);
  });

  it('reports the wait time of a cooling candidate when the ready one has failed', async () => {
    const catalog = createModelCatalog(settings(), { clock });
    const names = ['second/qwen', 'first/claude-sonnet-5-5'];
    first.script(
      { kind: 'refuse', status: 429, headers: { 'retry-after': '5' } },
      { kind: 'refuse', status: 429, headers: { 'retry-after': '5' } },
    );
    second.script({ kind: 'refuse', status: 503 });
    expect((await run(catalog, names)).error?.details?.attempts).toHaveLength(3);
    clock.advance(4_000);
    second.script({ kind: 'refuse', status: 503 });
    catalog.coolDowns.begin({ provider: 'second', profile: '', model: 'qwen' }).succeeded();
    const { error } = await run(catalog, names);
    expect(error?.code).toBe('UNAVAILABLE');
    expect(error?.message).toContain('in cool-down for 1 s');
    expect(first.requests).toHaveLength(2);
  });

  it('skips every key of an unreachable address', async () => {
    await first.close();
    second.script({ kind: 'refuse', status: 503 });
    const { error } = await run();
    expect(error?.details?.attempts).toMatchObject([
      { profile: 'default', code: 'UNAVAILABLE' },
      { profile: 'spare', coolsMs: 30_000 },
      { model: 'second/qwen' },
    ]);
    expect((await run()).done?.model).toBe('second/qwen');
  });

  it('refuses an unknown name immediately', async () => {
    const { error } = await run(undefined, ['second/qwen', 'unknown/model']);
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(second.requests).toHaveLength(0);
  });

  it('does not send encrypted reasoning to another key of the provider', async () => {
    const continuation = {
      provider: 'first',
      model: 'claude-sonnet-5-5',
      blocks: [{ type: 'thinking', thinking: 'hm', signature: 'sealed' }],
    };
    const messages: ModelRequest['messages'] = [
      { role: 'user', text: 'a' },
      { role: 'assistant', text: 'b', continuation },
      { role: 'user', text: 'c' },
    ];
    first.script({ kind: 'refuse', status: 429 });
    await run(undefined, undefined, { messages });
    const bodies = first.requests.map(({ body }) => JSON.stringify(body));
    expect(bodies.map((body) => body.includes('sealed'))).toEqual([false, false]);
  });
});
