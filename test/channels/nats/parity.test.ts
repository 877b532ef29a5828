/** The same envelope gets the same answer over HTTP and over NATS, case by case. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TokenQuota } from '../../../channels/edge/quota.ts';
import {
  BearerGuesses,
  createAuthFailures,
} from '../../../channels/gateway/auth/bearer-guesses.ts';
import { AddressList } from '../../../channels/gateway/auth/client-address.ts';
import type { Envelope } from '../../../protocols/envelope.ts';
import { systemClock } from '../../../runtime/index.ts';
import { describeOnNats } from '../../servers/describe-on-nats.ts';
import { type NatsServer, startNats } from '../../servers/nats.ts';
import { bytesOf, envelope, openRealTasks, type RealTasks } from '../edge/real-tasks.ts';
import {
  type BothEntryPoints,
  openEntryPoints,
  type Reply,
  type Send,
} from './both-entry-points.ts';

type Ask = (value: unknown, headers?: Readonly<Record<string, string>>) => Promise<Reply>;
type Case = {
  readonly name: string;
  readonly status: number;
  readonly code?: string;
  /** the last answer counts */
  readonly run: (ask: Ask) => Promise<Reply>;
};

const alice = { authorization: 'Bearer alice' };
const clerk = {
  principal: { sub: 'clerk', roles: ['clerk'] },
  action: 'test.guard_door',
} as const satisfies Partial<Envelope>;
const mallory = {
  tenant_id: 'other',
  principal: { sub: 'mallory', roles: ['agent'] },
} as const satisfies Partial<Envelope>;
const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
const payload = (more: object): Envelope['payload'] => ({ schema_version: '1.0', ...more });
const without = (field: keyof Envelope): Partial<Envelope> => {
  const { [field]: _, ...rest } = envelope();
  return rest;
};

const refused = (
  name: string,
  [status, code]: readonly [number, string],
  value: () => unknown,
  headers: Readonly<Record<string, string>> = alice,
): Case => ({ name, status, code, run: (ask) => ask(value(), headers) });

const invalid = [400, 'INVALID_ARGUMENT'] as const;

const cases: readonly Case[] = [
  { name: 'a good envelope', status: 200, run: (ask) => ask(envelope()) },
  {
    name: 'an envelope with unfinished work, answered without waiting',
    status: 202,
    run: (ask) =>
      ask(envelope({ action: 'test.hold_work', payload: payload({ gate: 'parity' }) }), {
        ...alice,
        prefer: 'respond-async',
      }),
  },
  {
    name: 'an envelope whose work fails',
    status: 200,
    run: (ask) => ask(envelope({ action: 'test.fail_always', payload: payload({}) })),
  },
  refused('what is no JSON', invalid, () => 'nonsense {'),
  refused('JSON that is no object', invalid, () => 17),
  refused('an unknown field', invalid, () => ({ ...envelope(), extra: 1 })),
  ...(['request_id', 'trace_id', 'idempotency_key', 'payload', 'seq'] as const).map((field) =>
    refused(`a missing ${field}`, invalid, () => without(field)),
  ),
  refused('another version', invalid, () => ({ ...envelope(), version: '2.0' })),
  refused('a bad trace id', invalid, () => envelope({ trace_id: 'x' })),
  refused('a payload that is not of its schema', invalid, () =>
    envelope({ payload: payload({ text: 4 }) }),
  ),
  refused('an unknown schema version', invalid, () =>
    envelope({ payload: { schema_version: '9.9', text: '' } }),
  ),
  refused('an unsupported version of an action', invalid, () =>
    envelope({ action_version: '7.0.0' }),
  ),
  refused('a time in the future', invalid, () => envelope({ timestamp: ago(-600_000) })),
  refused('no token', [401, 'UNAUTHORIZED'], () => envelope(), {}),
  refused('an unknown token', [401, 'UNAUTHORIZED'], () => envelope(), {
    authorization: 'Bearer unknown',
  }),
  refused('another tenant', [403, 'FORBIDDEN'], () => envelope({ tenant_id: 'other' })),
  refused('another principal', [403, 'FORBIDDEN'], () =>
    envelope({ principal: { sub: 'bob', roles: [] } }),
  ),
  refused('a role that the token has not', [403, 'FORBIDDEN'], () =>
    envelope({ principal: { sub: 'alice', roles: ['operator'] } }),
  ),
  refused('an action that is not for this role', [403, 'FORBIDDEN'], () =>
    envelope({ action: 'test.guard_door', payload: payload({ text: '' }) }),
  ),
  refused('an action that is not offered', [404, 'NOT_FOUND'], () =>
    envelope({ action: 'test.find_nothing' }),
  ),
  refused('one that is expired', [410, 'EXPIRED'], () =>
    envelope({ timestamp: ago(120_000), ttl_sec: 60 }),
  ),
  refused(
    'a payload larger than its action accepts',
    [413, 'PAYLOAD_TOO_LARGE'],
    () => envelope({ ...clerk, payload: payload({ text: 'x'.repeat(500) }) }),
    { authorization: 'Bearer clerk' },
  ),
  refused('an envelope that is too large', [413, 'PAYLOAD_TOO_LARGE'], () =>
    envelope({ payload: payload({ text: 'x'.repeat(1_100_000) }) }),
  ),
  {
    name: 'the same envelope again',
    status: 200,
    run: async (ask) => {
      const one = envelope();
      const first = await ask(one);
      const second = await ask(one);
      expect(second.body).toEqual(first.body);
      return second;
    },
  },
  {
    name: 'the same key with another payload',
    status: 409,
    code: 'CONFLICT',
    run: async (ask) => {
      const one = envelope();
      await ask(one);
      return ask({ ...one, payload: payload({ text: 'another' }) });
    },
  },
  {
    name: 'a sequence number that is not above the last one',
    status: 409,
    code: 'CONFLICT',
    run: async (ask) => {
      const subject = envelope().request_id;
      const of = (seq: number) => envelope({ seq, payload: payload({ text: '', subject }) });
      await ask(of(5));
      return ask(of(5));
    },
  },
  {
    name: 'a cancelled task',
    status: 200,
    run: async (ask) => {
      const gate = envelope().request_id;
      const work = envelope({ action: 'test.hold_work', payload: payload({ gate }) });
      const { body } = await ask(work, { ...alice, prefer: 'respond-async' });
      return ask(
        envelope({
          action: 'test.hold_work.cancel',
          payload: payload({ task_id: body['task_id'] }),
        }),
      );
    },
  },
  {
    name: 'a cancel of an ended task',
    status: 409,
    code: 'CONFLICT',
    run: async (ask) => {
      const { body } = await ask(envelope());
      return ask(
        envelope({
          action: 'test.echo_text.cancel',
          payload: payload({ task_id: body['task_id'] }),
        }),
      );
    },
  },
  {
    name: 'a status request about a task',
    status: 200,
    run: async (ask) => {
      const { body } = await ask(envelope());
      return ask(
        envelope({ action: 'task.get_status', payload: payload({ task_id: body['task_id'] }) }),
      );
    },
  },
  refused('a question about a task that is not there', [404, 'NOT_FOUND'], () =>
    envelope({
      action: 'task.get_status',
      payload: payload({ task_id: envelope().request_id }),
    }),
  ),
  {
    name: 'an envelope beyond the quota',
    status: 429,
    code: 'RATE_LIMIT_EXCEEDED',
    run: async (ask) => {
      const headers = { authorization: 'Bearer mallory' };
      await ask(envelope(mallory), headers);
      return ask(envelope(mallory), headers);
    },
  },
];

describeOnNats('an envelope over HTTP and over NATS', ({ path }) => {
  let server: NatsServer;
  let real: RealTasks;
  let entryPoints: BothEntryPoints;
  beforeAll(async () => {
    server = await startNats({ path, config: 'max_payload: 4194304\nmax_pending: 67108864' });
    real = await openRealTasks();
    const limits = { principalPerMinute: 1e6, externalPerMinute: 1, tenantPerMinute: 1e6 };
    const quota = new TokenQuota(limits, real.system, systemClock);
    entryPoints = await openEntryPoints(real.edge({ quota }), real.system, server.url);
  });
  afterAll(async () => {
    await entryPoints.close();
    await real.stop();
    await server.stop();
  });

  const over =
    (send: Send): Ask =>
    (value, headers = alice) => {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      const { action, tenant_id: tenant = 'acme' } = (value ?? {}) as Partial<Envelope>;
      const domain = action?.split('.', 1)[0] ?? 'test';
      return send(Buffer.from(text), headers, { domain, tenant });
    };

  it.each(cases)('is the same over both transports: $name', async ({ run, status, code }) => {
    const http = await run(over(entryPoints.http));
    const nats = await run(over(entryPoints.nats));
    expect(http).toMatchObject({ status, body: code ? { error: { code } } : {} });
    expect(alike(nats)).toEqual(alike(http));
  });

  it('bounds guesses of a secret over NATS per tenant, and admits the right one in the meantime', async () => {
    const secrets = { auth: { token: 'alice' } };
    const failures = createAuthFailures(secrets, systemClock);
    const guesses = new BearerGuesses({ ...secrets, failures, proxies: new AddressList() });
    const guarded = await openEntryPoints(real.edge(), real.system, server.url, undefined, guesses);
    const statusOf = async (token: string, tenant = 'acme') => {
      const headers = { authorization: `Bearer ${token}` };
      const reply = await guarded.nats(bytesOf(envelope()), headers, { domain: 'test', tenant });
      return reply.status;
    };
    const wrong = Array.from({ length: 12 }, (_, at) => statusOf(`guess-${at}`));
    const statuses = await Promise.all(wrong);
    expect(statuses.toSorted()).toEqual([...Array<number>(10).fill(401), 429, 429]);
    expect(await statusOf('alice')).toBe(200);
    expect(await statusOf('guess', 'other')).toBe(401);
    await guarded.close();
  });
});

/** Removes the values that differ each time: ids, times, the rest of a quota. */
const alike = ({ status, headers, body }: Reply): unknown => {
  const text = JSON.stringify(body)
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '{uuid}')
    .replaceAll(/"[0-9a-f]{32}"/g, '"{trace}"')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '{time}')
    .replaceAll(/"retry_after_sec":\d+/g, '"retry_after_sec":"{seconds}"');
  const isThere = Object.entries(headers).map(([name, value]) => [name, value !== undefined]);
  return { status, headers: Object.fromEntries(isThere), body: JSON.parse(text) as unknown };
};
