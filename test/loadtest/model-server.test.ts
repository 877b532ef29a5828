/** The scripted model: distributions, shares of errors, and what an OpenAI client sees. */
import OpenAI from 'openai';
import { expect, it, onTestFinished } from 'vitest';
import { Random } from '../../loadtest/random.ts';
import {
  drawOf,
  scriptOf,
  type ScriptText,
  scriptTextOf,
} from '../../loadtest/model-server/script.ts';
import { startModelServer } from '../../loadtest/model-server/server.ts';

async function serve(text: ScriptText) {
  const server = await startModelServer({ script: scriptOf(text), seed: 3, port: 0 });
  onTestFinished(() => server.close());
  const client = new OpenAI({ baseURL: server.baseUrl, apiKey: 'none', maxRetries: 0 });
  return { server, client };
}

const messages = [{ role: 'user' as const, content: 'hello' }];

it('streams an answer of the stated number of tokens, which the official client reads', async () => {
  const { client, server } = await serve({ tokens: '150' });
  const stream = await client.chat.completions.create({
    model: 'scripted',
    messages,
    stream: true,
    stream_options: { include_usage: true },
  });
  let [text, tokens] = ['', 0];
  for await (const { choices, usage } of stream) {
    text += choices[0]?.delta.content ?? '';
    tokens = usage?.completion_tokens ?? tokens;
  }
  expect(text.trim().split(' ')).toHaveLength(150);
  expect(tokens).toBe(150);
  expect(server.counts()).toEqual({ ok: 1 });
});

it('calls the tool that a message asks for, if it is offered', async () => {
  const { client } = await serve({});
  const asked = [{ role: 'user' as const, content: 'call look {"at":1}' }];
  const offered = [{ type: 'function' as const, function: { name: 'look', parameters: {} } }];
  const ask = async (tools?: typeof offered) => {
    const request = { model: 'scripted', messages: asked, ...(tools && { tools }) };
    const { choices } = await client.chat.completions.create(request);
    return choices[0]!;
  };
  expect((await ask(offered)).message.tool_calls).toMatchObject([
    { function: { name: 'look', arguments: '{"at":1}' } },
  ]);
  expect((await ask()).message.content).toContain('the actor');
});

it('fails with 429 and Retry-After, 500, and in the middle of an answer', async () => {
  const failing = async (errors: string) => {
    const { server } = await serve({ errors });
    return fetch(`${server.baseUrl}/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model: 'scripted', messages, stream: true }),
    });
  };
  const limited = await failing('429=100%');
  expect([limited.status, limited.headers.get('retry-after')]).toEqual([429, '1']);
  expect((await failing('500=100%')).status).toBe(500);
  const cut = await failing('disconnect=100%');
  expect(cut.status).toBe(200);
  await expect(cut.text()).rejects.toThrow(/terminated/);
});

it('draws errors and latencies with the stated shares, the same for the same seed', () => {
  const script = scriptOf(
    scriptTextOf('latency=lognormal:p50=400ms,p99=2s errors=429=10%,500=5%,disconnect=1%'),
  );
  const drawn = (seed: number) => {
    const random = new Random(seed);
    return Array.from({ length: 20_000 }, () => drawOf(script, random));
  };
  const draws = drawn(1);
  expect(drawn(1)).toEqual(draws);
  const share = (fault: string) => draws.filter((draw) => draw.fault === fault).length / 20_000;
  expect(share('429')).toBeCloseTo(0.1, 1);
  expect(Math.abs(share('429') - 0.1)).toBeLessThan(0.01);
  expect(Math.abs(share('500') - 0.05)).toBeLessThan(0.01);
  expect(Math.abs(share('disconnect') - 0.01)).toBeLessThan(0.005);
  const sorted = draws.map(({ latencyMs }) => latencyMs).toSorted((a, b) => a - b);
  expect(Math.abs(sorted[10_000]! - 400)).toBeLessThan(20);
  expect(Math.abs(sorted[19_800]! - 2_000)).toBeLessThan(200);
});

it('refuses a script that it cannot follow', () => {
  const wrong: readonly ScriptText[] = [
    { latency: 'normal:1' },
    { latency: 'uniform:2s..1s' },
    { latency: 'lognormal:p50=2s,p99=1s' },
    { errors: '101%' },
    { errors: '404=1%' },
    { errors: '429=60%,500=60%' },
    { tokens: '0' },
  ];
  for (const text of wrong) expect(() => scriptOf(text)).toThrow(/model/);
  expect(() => scriptTextOf('speed=1')).toThrow(/--model/);
});
