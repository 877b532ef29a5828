import { describe, expect, it } from 'vitest';
import { createAnthropicProvider } from '../../../agent/models/anthropic.ts';
import type { Connection } from '../../../agent/models/connection.ts';
import { createGoogleProvider } from '../../../agent/models/google.ts';
import type { ModelProvider } from '../../../agent/models/model.ts';
import { createOfflineProvider } from '../../../agent/models/offline/offline.ts';
import { createOpenAiCompletionsProvider } from '../../../agent/models/openai-completions.ts';
import { createOpenAiResponsesProvider } from '../../../agent/models/openai-responses.ts';
import { systemClock } from '../../../runtime/clock/clock.ts';
import { startAnthropicServer } from '../../servers/anthropic-server.ts';
import { startGoogleServer } from '../../servers/google-server.ts';
import { startOpenAiServer } from '../../servers/openai-server.ts';
import type { Plan, ScriptedServer } from '../../servers/scripted-server.ts';
import { ManualClock, until } from './manual-clock.ts';
import {
  hearAll,
  options,
  patient,
  providerContract,
  request,
  type Rig,
  secretKey,
} from './provider-contract.ts';

type Remote = {
  name: string;
  model: string;
  create: (connection: Connection) => ModelProvider;
  start: () => Promise<ScriptedServer>;
  /** arguments are objects in this protocol, never texts */
  objectsOnly?: true;
};

const remotes: Remote[] = [
  {
    name: 'anthropic-messages',
    model: 'claude-sonnet-5-5',
    create: createAnthropicProvider,
    start: startAnthropicServer,
  },
  {
    name: 'openai-responses',
    model: 'gpt-5.5',
    create: createOpenAiResponsesProvider,
    start: startOpenAiServer,
  },
  {
    name: 'openai-completions',
    model: 'local-model',
    create: createOpenAiCompletionsProvider,
    start: startOpenAiServer,
  },
  {
    name: 'google-generative-ai',
    model: 'gemini-3.1-pro-preview',
    create: createGoogleProvider,
    start: startGoogleServer,
    objectsOnly: true,
  },
];

type RemoteRig = Rig & { server: ScriptedServer };

const connect = async (remote: Remote): Promise<RemoteRig> => {
  const server = await remote.start();
  const clock = new ManualClock();
  const provider = remote.create({
    id: 'the-provider',
    baseUrl: server.baseUrl,
    apiKey: secretKey,
    models: [],
    clock,
  });
  return {
    provider,
    clock,
    server,
    requests: server.requests,
    prepare: (plan) => {
      server.script(plan);
      return request({ model: remote.model });
    },
    close: () => server.close(),
  };
};

/** A plan as directives of the offline model. */
const directivesFor = (plan: Plan): string => {
  switch (plan.kind) {
    case 'answer': {
      if (plan.stop === 'refusal') return '[[refuse]] hello';
      if (plan.calls?.[0] && !plan.stop) {
        return `call ${plan.calls[0].name} ${JSON.stringify(plan.calls[0].args)}`;
      }
      return `[[words:12]]${plan.reasoning ? ' [[think:3]]' : ''}`;
    }
    case 'refuse': {
      const codes: Record<number, string> = {
        400: 'INVALID_ARGUMENT',
        401: 'UNAUTHORIZED',
        429: 'RATE_LIMIT_EXCEEDED',
      };
      return `[[fail:${codes[plan.status] ?? 'UNAVAILABLE'}:${plan.headers?.['retry-after-ms'] ?? ''}]]`;
    }
    case 'stall':
    case 'malformed':
      return `[[words:50]] [[${plan.kind}:4]]`;
    default:
      return '[[words:50]] [[cut:4]]';
  }
};

providerContract('offline', async () => {
  const clock = new ManualClock();
  return {
    provider: createOfflineProvider({ clock, tokensPerSecond: 0 }),
    clock,
    prepare: (plan) =>
      request({
        model: 'troupe-offline',
        messages: [{ role: 'user', text: directivesFor(plan) }],
        ...(plan.kind === 'answer' && plan.stop === 'length' ? { maxTokens: 5 } : {}),
      }),
    close: async () => {},
  };
});

for (const remote of remotes) {
  providerContract(remote.name, () => connect(remote));

  describe(`${remote.name} over HTTP`, () => {
    const withRig = async (test: (rig: RemoteRig) => Promise<void>) => {
      const rig = await connect(remote);
      try {
        await test(rig);
      } finally {
        await rig.close();
      }
    };
    const call = (rig: RemoteRig, plan: Plan) =>
      hearAll(rig.provider.stream(rig.prepare(plan), options()));

    it('emits the deltas as they were sent, and the counted usage', () =>
      withRig(async (rig) => {
        const deltas = ['one ', 'two ', 'three'];
        const heard = await call(rig, { kind: 'answer', deltas });
        const texts = heard.events.flatMap((event) => (event.kind === 'text' ? [event.delta] : []));
        expect(texts).toEqual(deltas);
        expect(heard.done[0]?.usage).toMatchObject({ inputTokens: 11, outputTokens: 7 });
      }));

    it('sends the key, the idempotency key and the configured headers', () =>
      withRig(async ({ server }) => {
        const provider = remote.create({
          id: 'p',
          baseUrl: `${server.baseUrl}/`,
          apiKey: { reveal: () => secretKey },
          headers: { 'X-Team': { reveal: () => 'blue' } },
          models: [],
          clock: systemClock,
        });
        await hearAll(provider.stream(request({ model: remote.model }), patient()));
        const [seen] = server.requests;
        expect(JSON.stringify(seen?.headers)).toContain(secretKey);
        expect(seen?.headers).toMatchObject({ 'idempotency-key': 'intent-1', 'x-team': 'blue' });
      }));

    it('sends no credentials to a configured server without a key', () =>
      withRig(async ({ server }) => {
        const provider = remote.create({
          id: 'p',
          baseUrl: server.baseUrl,
          models: [],
          clock: systemClock,
        });
        const heard = await hearAll(provider.stream(request({ model: remote.model }), patient()));
        expect(heard.error).toBeUndefined();
        expect(server.requests[0]?.headers).not.toHaveProperty('authorization');
        expect(server.requests[0]?.headers).not.toHaveProperty('x-api-key');
        expect(server.requests[0]?.headers).not.toHaveProperty('x-goog-api-key');
      }));

    it('requires a key for the provider’s own address, and names the setting', async () => {
      const provider = remote.create({ id: 'acme', models: [], clock: systemClock });
      const { error } = await hearAll(provider.stream(request({ model: remote.model }), patient()));
      expect(error?.code).toBe('UNAUTHORIZED');
      expect(error?.message).toContain('models.providers.acme.apiKey');
      expect(error?.message).toMatch(/ANTHROPIC_API_KEY|OPENAI_API_KEY|GEMINI_API_KEY/);
    });

    it('names the setting of a refused key and hides the provider’s message', () =>
      withRig(async (rig) => {
        const { error } = await call(rig, {
          kind: 'refuse',
          status: 401,
          message: 'bad key sk-te***6789',
        });
        expect(error?.message).toContain('models.providers.the-provider.apiKey');
        expect(error?.message).not.toContain('sk-te');
        expect(error?.details?.status).toBe(401);
      }));

    it('returns the provider’s message about a refused request, without configured secrets', () =>
      withRig(async ({ server }) => {
        const headers = { authorization: 'Bearer token-token-token', 'x-side': 'side-secret' };
        const provider = remote.create({
          id: 'p',
          baseUrl: server.baseUrl,
          headers,
          models: [],
          clock: systemClock,
        });
        const message = 'no tool_choice here; you sent token-token-token and side-secret';
        server.script({ kind: 'refuse', status: 400, message });
        const { error } = await hearAll(
          provider.stream(request({ model: remote.model }), patient()),
        );
        expect(error?.message).toContain('no tool_choice here; you sent *** and ***');
      }));

    it('accepts Retry-After in seconds and as a date', () =>
      withRig(async (rig) => {
        const inSeconds = await call(rig, {
          kind: 'refuse',
          status: 429,
          headers: { 'retry-after': '2' },
        });
        expect(inSeconds.error?.retryAfterMs).toBe(2_000);
        const date = new Date(rig.clock.wallMs() + 30_000).toUTCString();
        const byDate = await call(rig, {
          kind: 'refuse',
          status: 429,
          headers: { 'retry-after': date },
        });
        expect(byDate.error?.retryAfterMs).toBe(30_000);
        const without = await call(rig, { kind: 'refuse', status: 429 });
        expect(without.error?.code).toBe('RATE_LIMIT_EXCEEDED');
        expect(without.error?.retryAfterMs).toBeUndefined();
      }));

    it.each([
      [402, 'FORBIDDEN'],
      [403, 'FORBIDDEN'],
      [404, 'INVALID_ARGUMENT'],
      [408, 'UNAVAILABLE'],
      [413, 'PAYLOAD_TOO_LARGE'],
      [422, 'INVALID_ARGUMENT'],
      [503, 'UNAVAILABLE'],
    ])('maps HTTP %i to %s', (status, code) =>
      withRig(async (rig) => {
        const { error } = await call(rig, { kind: 'refuse', status, message: 'said so' });
        expect(error?.code).toBe(code);
        expect(error?.details?.status).toBe(status);
        expect(error?.message).toContain('said so');
      }),
    );

    it('reports no wait time for an exhausted quota', () =>
      withRig(async (rig) => {
        const plan: Plan = { kind: 'refuse', status: 429, type: 'insufficient_quota' };
        expect((await call(rig, plan)).error?.code).toBe('FORBIDDEN');
      }));

    it('marks a conversation that is too long for the model', () =>
      withRig(async (rig) => {
        const message = 'prompt is too long: 300000 tokens exceed the maximum context length';
        const { error } = await call(rig, { kind: 'refuse', status: 400, message });
        expect(error?.details?.reason).toBe('context_length');
      }));

    it('maps an error that arrives as an event', () =>
      withRig(async (rig) => {
        const deltas = ['so far '];
        const event = (type: string) =>
          call(rig, { kind: 'errorEvent', deltas, type, message: 'sorry' });
        const limited = await event('rate_limit_exceeded');
        expect(limited.error?.code).toBe('RATE_LIMIT_EXCEEDED');
        expect(limited.text).toBe('so far ');
        expect((await event('overloaded_error')).error?.code).toBe('UNAVAILABLE');
        expect((await event('server_error')).error?.code).toBe('UNAVAILABLE');
        expect((await event('invalid_prompt')).error?.code).toBe('INVALID_ARGUMENT');
      }));

    it('reports UNAVAILABLE with the reason when no server listens', () =>
      withRig(async (rig) => {
        await rig.server.close();
        const { error } = await hearAll(rig.provider.stream(request(), options()));
        expect(error?.code).toBe('UNAVAILABLE');
        expect(error?.message).toContain('ECONNREFUSED');
      }));

    it('reports DEADLINE_EXCEEDED when not even headers arrive', () =>
      withRig(async (rig) => {
        const running = call(rig, { kind: 'silent' });
        await until(() => rig.server.requests.length === 1, 'the request');
        rig.clock.advance(1_000);
        expect((await running).error?.code).toBe('DEADLINE_EXCEEDED');
      }));

    it('resets the idle limit on keep-alives without events', () =>
      withRig(async (rig) => {
        const abort = new AbortController();
        const pings = { everyMs: 1, count: 10_000 };
        const asked = rig.prepare({ kind: 'stall', deltas: ['a'], pings });
        const stream = rig.provider.stream(asked, options({ signal: abort.signal }));
        let events = 0;
        const running = hearAll(stream, () => events++);
        await until(() => events === 1 && rig.clock.pending === 1, 'the one event');
        for (let ping = 0; ping < 5; ping++) {
          const { armed } = rig.clock;
          await until(() => rig.clock.armed > armed, 'the reset of the idle limit');
          rig.clock.advance(600); // twice this time exceeds the limit
        }
        abort.abort();
        expect((await running).error?.code).toBe('CANCELLED');
      }));

    it('finishes at the end event although the server keeps the connection open', () =>
      withRig(async (rig) => {
        const asked = rig.prepare({ kind: 'answer', deltas: ['a'], hold: true });
        // the idle limit cannot pass; only the short wait after the end event can
        const running = hearAll(rig.provider.stream(asked, options({ idleTimeoutMs: 1e12 })));
        let ended = false;
        void running.then(() => (ended = true));
        await until(() => {
          rig.clock.advance(1_000);
          return ended;
        }, 'the end');
        expect((await running).done[0]?.text).toBe('a');
      }));

    it('keeps the connection usable for later calls', () =>
      withRig(async (rig) => {
        const calls = 6;
        for (let turn = 0; turn < calls; turn++) await call(rig, { kind: 'answer', deltas: ['a'] });
        // the client may open a second connection while it returns the first one to its pool
        const ports = new Set(rig.server.requests.map((seen) => seen.clientPort));
        expect(ports.size).toBeLessThanOrEqual(2);
        expect(rig.server.requests.some((seen) => seen.aborted)).toBe(false);
      }));

    it.skipIf(remote.objectsOnly)('returns arguments that are not valid JSON as a string', () =>
      withRig(async (rig) => {
        const calls = [{ id: 'c1', name: 'calculate', args: '{"expression": 2+' }];
        const heard = await call(rig, { kind: 'answer', calls });
        expect(heard.done[0]?.calls).toEqual([
          { id: 'c1', name: 'calculate', args: '{"expression": 2+' },
        ]);
      }),
    );

    it('returns several calls of one answer in order', () =>
      withRig(async (rig) => {
        const calls = [1, 2, 3].map((n) => ({
          id: `c${n}`,
          name: 'calculate',
          args: { expression: `${n}` },
        }));
        const heard = await call(rig, { kind: 'answer', deltas: ['I look. '], calls });
        expect(heard.done[0]).toMatchObject({ text: 'I look. ', stop: 'tools', calls });
      }));

    it('repairs a history that an aborted run left with open calls and orphaned results', () =>
      withRig(async (rig) => {
        const heard = await hearAll(
          rig.provider.stream(
            request({
              model: remote.model,
              messages: [
                { role: 'tool', callId: 'gone', name: 'clock', result: 'noon', isError: false },
                { role: 'user', text: 'two things' },
                {
                  role: 'assistant',
                  text: '',
                  calls: [
                    { id: 'a', name: 'calculate', args: { expression: '1' } },
                    { id: 'b', name: 'calculate', args: '{broken' },
                  ],
                },
                { role: 'tool', callId: 'b', name: 'calculate', result: 'no JSON', isError: true },
                { role: 'assistant', text: '' },
                { role: 'user', text: 'go on' },
              ],
            }),
            options(),
          ),
        );
        expect(heard.error).toBeUndefined();
        expect(JSON.stringify(rig.server.requests[0]?.body)).toContain('the run ended before');
      }));
  });
}
