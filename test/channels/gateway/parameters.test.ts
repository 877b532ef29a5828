/**
 * Finds parameters of the published schema that a method accepts and ignores. Each must be
 * honoured, refused by name, or ignored on purpose with its reason in the documentation.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TSchema } from '@sinclair/typebox';
import { afterEach, describe, expect, test } from 'vitest';
import {
  checkParams,
  type GatewayMethodName,
  GatewayMethods,
} from '../../../protocols/gateway/index.ts';
import { MAIN } from './client.ts';
import { closeAll, openAll } from './opened.ts';

afterEach(closeAll);

type Field = {
  readonly method: GatewayMethodName;
  readonly name: string;
  readonly schema: TSchema;
};

const fieldsOf = (method: GatewayMethodName): Field[] => {
  const params: TSchema = GatewayMethods[method].params;
  const properties = (params.properties ?? {}) as Record<string, TSchema>;
  return Object.entries(properties).map(([name, schema]) => ({ method, name, schema }));
};
const methods = Object.keys(GatewayMethods) as GatewayMethodName[];
const fields = methods.flatMap(fieldsOf);
const unsupported = fields.filter(({ schema }) => schema['x-unsupported'] !== undefined);
const withoutEffect = fields.filter(({ schema }) => schema['x-no-effect'] !== undefined);

/** A value of the schema that requests something. */
const sample = (schema: TSchema, neutral: readonly unknown[] = []): unknown => {
  const choices = (schema.anyOf as TSchema[] | undefined)?.map((one) => sample(one));
  if (choices) return choices.find((one) => one !== null && !neutral.includes(one)) ?? choices[0];
  if ('const' in schema) return schema.const;
  switch (schema.type) {
    case 'string':
      return 'something';
    case 'boolean':
      return true;
    case 'integer':
    case 'number':
      return Math.max(1, Number(schema.minimum ?? 1));
    case 'array':
      return [{ type: 'something' }].slice(0, (schema.items as TSchema).type === 'string' ? 0 : 1);
    case 'null':
      return null;
    case 'object': {
      const required = (schema.required ?? []) as string[];
      const properties = (schema.properties ?? {}) as Record<string, TSchema>;
      const given = required.map((name) => [name, sample(properties[name]!)] as const);
      return Object.fromEntries(given.length > 0 ? given : [['x', 1]]);
    }
    default:
      return 'something';
  }
};
const valueOf = ({ method, name, schema }: Field): unknown => {
  if (method === 'agent' && name === 'inputProvenance') return { kind: 'inter_session' };
  if (name === 'systemInputProvenance') return { kind: 'internal_system' };
  if (name === 'mediaUrls') return ['http://h/a.png'];
  return sample(schema, schema['x-neutral'] as unknown[] | undefined);
};
/** The smallest valid params without that field. */
const smallest = (method: GatewayMethodName): object => {
  const { required = [], properties = {} } = GatewayMethods[method].params as TSchema;
  const values = (required as string[]).map((name) => [
    name,
    name === 'sessionKey' ? MAIN : sample((properties as Record<string, TSchema>)[name]!),
  ]);
  return Object.fromEntries(values) as object;
};

describe('a parameter without a counterpart', () => {
  test.each(unsupported.map((field) => [`${field.method} ${field.name}`, field] as const))(
    'is refused by name: %s',
    async (_, field) => {
      const { client, system } = await openAll();
      const params = { ...smallest(field.method), [field.name]: valueOf(field) };
      const { error } = await client.call(field.method, params);
      expect(error).toMatchObject({ code: 'INVALID_REQUEST' });
      expect(error?.message).toContain(`/${field.name} is not supported: `);
      expect(system.asked).toEqual([]);
    },
  );

  test.each(unsupported.map((field) => [`${field.method} ${field.name}`, field] as const))(
    'is accepted with the value that is the default: %s',
    (_, { method, name, schema }) => {
      for (const value of schema['x-neutral'] as unknown[]) {
        expect(checkParams(method, { ...smallest(method), [name]: value })).toMatchObject({
          ok: true,
        });
      }
    },
  );

  test('exists for agent, chat.send, sessions.list and send', () => {
    expect(new Set(unsupported.map(({ method }) => method))).toEqual(
      new Set(['agent', 'chat.send', 'chat.history', 'sessions.list', 'send', 'usage.cost']),
    );
    expect(unsupported.filter(({ method }) => method === 'agent').length).toBeGreaterThan(25);
  });
});

const text = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
const sources = (folder: string): string =>
  readdirSync(new URL(`../../../${folder}`, import.meta.url), { withFileTypes: true })
    .map((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? sources(path) : text(path);
    })
    .join('\n');

test('every other parameter of a method is read by the code that serves it', () => {
  const code = sources('channels') + sources('operations') + sources('installation');
  const marked = new Set([...unsupported, ...withoutEffect]);
  const unread = fields.filter((field) => {
    if (marked.has(field)) return false;
    return !new RegExp(`(?<![\\w'"])${field.name}\\b(?!')`).test(code);
  });
  expect(unread.map(({ method, name }) => `${method} ${name}`)).toEqual([]);
});

test('the documentation names each parameter that is refused or ignored, and the reason', () => {
  const page = text('docs/openclaw-compatibility.md');
  for (const { method, name, schema } of [...unsupported, ...withoutEffect]) {
    const why = (schema['x-unsupported'] ?? schema['x-no-effect']) as string;
    const row = page
      .split('\n')
      .find(
        (line) =>
          line.startsWith(`| \`${method}\` | `) &&
          line.includes(`\`${name}\``) &&
          line.includes(why),
      );
    expect(row, `${method} ${name}: ${why}`).toBeDefined();
  }
});

describe('requests of OpenClaw 2026.9.6 clients are accepted', () => {
  const message = { message: 'hello', idempotencyKey: 'k' };
  test.each([
    // openclaw agent
    ['agent', { ...message, agentId: 'main', deliver: false, timeout: 600 }],
    ['agent', { ...message, sessionKey: MAIN, deliver: false, channel: 'webchat', lane: 'main' }],
    // TUI
    ['chat.send', { ...message, sessionKey: MAIN, sessionId: 's', deliver: false, timeoutMs: 0 }],
    ['chat.abort', { sessionKey: MAIN, preserveSideRuns: true }],
    [
      'sessions.create',
      { agentId: 'main', parentSessionKey: MAIN, emitCommandHooks: true, succeedsParent: false },
    ],
    // Control UI
    [
      'chat.send',
      {
        ...message,
        sessionKey: MAIN,
        deliver: false,
        replyToId: 'm',
        queueMode: 'steer',
        expectedLeafEntryId: null,
      },
    ],
    ['chat.send', { ...message, sessionKey: MAIN, deliver: false, expectedLeafEntryId: 'leaf' }],
    ['chat.history', { sessionKey: MAIN, agentId: 'main', limit: 1_000, inputRunIds: ['r'] }],
    ['chat.history', { sessionKey: MAIN, limit: 20, pendingBefore: 3, maxChars: 12_000 }],
    [
      'sessions.list',
      {
        includeGlobal: true,
        includeUnknown: true,
        includePeople: true,
        ownerFirst: true,
        configuredAgentsOnly: true,
      },
    ],
  ])('%s %j', async (method, params) => {
    const { client, system } = await openAll({ echo: true });
    system.others['session.set'] = () => ({ kind: 'answered', result: {} });
    expect(await client.call(method, params)).toMatchObject({ ok: true });
  });
});

describe('agent', () => {
  const message = { message: 'hello', idempotencyKey: 'k' };

  test('refuses a provider without its model, and a session that was replaced', async () => {
    const { client, system } = await openAll();
    const alone = await client.call('agent', { ...message, provider: 'openai' });
    expect(alone.error?.message).toContain('/provider');
    const stale = await client.call('agent', { ...message, expectedExistingSessionId: 'gone' });
    expect(stale.error?.message).toContain('was reset in the meantime');
    expect(system.asked).toEqual([]);
  });
});

test('sessions.list omits agents that are not configured, and sessions without a message', async () => {
  const { client, system } = await openAll({ echo: true });
  await client.call('chat.send', { sessionKey: MAIN, message: 'x', idempotencyKey: 'k' });
  await client.chat('final');
  const rows = system.kept.table<Record<string, unknown>>('sessions');
  rows.set('agent:ghost:main', {
    ...rows.get(MAIN),
    sessionKey: 'agent:ghost:main',
    agentId: 'ghost',
  });
  rows.set('agent:main:empty', { ...rows.get(MAIN), sessionKey: 'agent:main:empty', messages: 0 });
  const keys = async (params: object) => {
    const { payload } = await client.call('sessions.list', params);
    return (payload.sessions as { key: string }[]).map(({ key }) => key).toSorted();
  };
  expect(await keys({})).toHaveLength(3);
  expect(await keys({ configuredAgentsOnly: true, requireLastInteraction: true })).toEqual([MAIN]);
});
