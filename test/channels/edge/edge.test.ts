import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EdgeFacts } from '../../../channels/edge/facts.ts';
import type { Edge, EdgeRequest } from '../../../channels/edge/edge.ts';
import { TokenQuota } from '../../../channels/edge/quota.ts';
import { ENVELOPE_SEQ_MAX, type Envelope } from '../../../protocols/envelope.ts';
import type { ErrorCode } from '../../../protocols/errors.ts';
import { TASKS_INDEX } from '../../../protocols/task.ts';
import { systemClock } from '../../../runtime/index.ts';
import { eventually } from '../../runtime/eventually.ts';
import { envelope, errorOf, openRealTasks, type RealTasks, sender, taskOf } from './real-tasks.ts';

let real: RealTasks;
let edge: Edge;
beforeAll(async () => {
  real = await openRealTasks();
  edge = real.edge();
});
afterAll(() => real.stop());

const send = sender(() => edge);
const later = (ms: number) => new Date(Date.now() + ms).toISOString();

/** A task that runs until `real.gate.open(key)`. */
const held = async (more: Partial<Envelope> = {}) => {
  const asked = envelope({ action: 'test.hold_work', ...more });
  const gate = asked.idempotency_key;
  const whole = { ...asked, payload: { schema_version: '1.0', gate } };
  const view = taskOf(await send(whole, { waitMs: 0 }));
  await eventually(() => expect(real.gate.begun).toContain(gate));
  return { gate, asked: whole, id: view.task_id, view };
};

describe('an envelope', () => {
  it('is answered with its result when the work ends at once', async () => {
    const asked = envelope();
    const view = taskOf(await send(asked));
    expect(view).toMatchObject({
      state: 'SUCCEEDED',
      result: { text: 'hello' },
      request_id: asked.request_id,
      trace_id: asked.trace_id,
      principal: 'alice',
    });
    expect(view.events.map(({ event }) => event)).toEqual([
      'test.echo_text.accepted',
      'test.echo_text.running',
      'test.echo_text.done',
    ]);
  });

  it('with a leap second has the time of the second before', async () => {
    const timestamp = new Date().toISOString().replace(/:\d\d\.\d+Z$/, ':60Z');
    expect(taskOf(await send(envelope({ timestamp })))).toMatchObject({ state: 'SUCCEEDED' });
  });

  it('with a lone surrogate is refused, and not stored as another text', async () => {
    for (const payload of [{ text: 'a\ud800' }, { text: 'a', 'b\udc00': 1 }]) {
      const answer = await send(envelope({ payload: { schema_version: '1.0', ...payload } }));
      expect(errorOf(answer)).toMatchObject({ code: 'INVALID_ARGUMENT' });
      expect(errorOf(answer).message).toContain('half a character');
    }
    const whole = { schema_version: '1.0', text: 'a\ud83d\ude00' };
    expect(taskOf(await send(envelope({ payload: whole })))).toMatchObject({
      result: { text: 'a😀' },
    });
  });

  it('whose work takes longer is answered with the current task', async () => {
    const { view, id, gate } = await held();
    expect(['ACKED', 'RUNNING']).toContain(view.state);
    real.gate.open(gate);
    const ended = await eventually(async () => {
      const now = await edge.task(id, { authorization: 'Bearer alice' });
      expect(now.state).toBe('SUCCEEDED');
      return now;
    });
    expect(ended.result).toEqual({ held: gate });
  });

  it('whose work fails is answered with a failed task, not a refusal', async () => {
    const asked = envelope({ action: 'test.fail_always', payload: { schema_version: '1.0' } });
    const view = taskOf(await send(asked));
    expect(view).toMatchObject({ state: 'FAILED', error: { code: 'INVALID_ARGUMENT' } });
  });
});

describe('the order of the checks', () => {
  const spent = new TokenQuota(
    { principalPerMinute: 1, externalPerMinute: 1, tenantPerMinute: 1_000 },
    { nodes: () => [] },
    systemClock,
  );
  const clerk = { sub: 'clerk', roles: ['clerk'] };

  it('is schema, identity, tenant, payload, idempotency, ttl, quota, seq', async () => {
    const used = envelope({ principal: clerk, context_id: 'order' });
    const tight = real.edge({ quota: spent });
    await send({ ...used, seq: 9_000_000 }, { authorization: 'Bearer clerk' });
    await send(envelope({ principal: clerk }), { authorization: 'Bearer clerk' }, tight);
    // Every field is wrong; each step corrects the fault that was reported.
    const wrong = {
      ...used,
      timestamp: later(-60_000),
      tenant_id: 'other',
      seq: 0,
      payload: { schema_version: '1.0', text: 1 },
    };
    const steps: readonly [ErrorCode, object, Partial<EdgeRequest>][] = [
      ['INVALID_ARGUMENT', {}, { authorization: 'Bearer unknown' }],
      ['UNAUTHORIZED', { seq: 1 }, {}],
      ['FORBIDDEN', {}, { authorization: 'Bearer clerk' }],
      ['INVALID_ARGUMENT', { tenant_id: 'acme' }, {}],
      ['CONFLICT', { payload: { schema_version: '1.0', text: 'other' } }, {}],
      ['EXPIRED', { idempotency_key: 'unused' }, {}],
      ['RATE_LIMIT_EXCEEDED', { timestamp: later(0), ttl_sec: 60 }, {}],
    ];
    let value: object = wrong;
    let request: Partial<EdgeRequest> = {};
    for (const [code, change, more] of steps) {
      value = { ...value, ...change };
      request = { ...request, ...more };
      expect(errorOf(await send(value, request, tight)).code).toBe(code);
    }
    expect(errorOf(await send(value, request)).details).toMatchObject({ last_seq: 9_000_000 });
  });

  it('starts with the size', async () => {
    const huge = envelope({ payload: { schema_version: '1.0', text: 'x'.repeat(2 ** 20) } });
    const error = errorOf(await send({ ...huge, seq: 0 }, { authorization: 'Bearer unknown' }));
    expect(error.code).toBe('PAYLOAD_TOO_LARGE');
    expect(error.message).toContain('artifact_uri');
  });
});

describe('a refusal', () => {
  it('names the invalid fields, and repeats the ids', async () => {
    const { seq: _, ...rest } = envelope();
    const answer = await send({ ...rest, surprise: 1 });
    expect(answer).toMatchObject({ requestId: rest.request_id, traceId: rest.trace_id });
    const error = errorOf(answer);
    expect(error.details?.['errors']).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ path: '/seq', message: 'is required' }),
        expect.objectContaining({ path: '/surprise', message: 'is not a known field' }),
      ]),
    );
  });

  it.each([
    ['/payload/more', { text: 'a', more: 'hidden-word' }],
    ['/payload/text', { text: 48_151_623 }],
  ])('names %s of a payload, and not its value', async (path, fields) => {
    const error = errorOf(await send(envelope({ payload: { schema_version: '1.0', ...fields } })));
    expect(error.details?.['errors']).toEqual([{ path, message: expect.any(String) }]);
    expect(JSON.stringify(error)).not.toMatch(/hidden-word|48151623/);
  });

  it('contains no part of a body that is not JSON', async () => {
    const bytes = Buffer.from('{"secret-word": oops');
    const error = errorOf(await send({}, { bytes }));
    expect(error.code).toBe('INVALID_ARGUMENT');
    expect(JSON.stringify(error)).not.toContain('secret-word');
  });

  it('names the served versions of the action', async () => {
    const error = errorOf(await send(envelope({ action_version: '2.0.0' })));
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', details: { supported: ['1.2.0'] } });
    const newer = errorOf(await send(envelope({ action_version: '1.9.0' })));
    expect(newer.code).toBe('INVALID_ARGUMENT');
    expect(errorOf(await send(envelope({ action: 'test.do_nothing' }))).code).toBe('NOT_FOUND');
  });

  it('is the answer for a principal without the role, and for a payload over the limit', async () => {
    const payload = { schema_version: '1.0', text: 'x' };
    const asked = { action: 'test.guard_door', payload };
    const error = errorOf(await send(envelope(asked)));
    expect(error).toMatchObject({ code: 'FORBIDDEN', details: { roles: ['clerk'] } });
    const clerk = { ...asked, principal: { sub: 'clerk', roles: ['clerk'] } };
    const as = { authorization: 'Bearer clerk' };
    expect(taskOf(await send(envelope(clerk), as)).state).toBe('SUCCEEDED');
    const large = { ...clerk, payload: { ...payload, text: 'ü'.repeat(90) } };
    expect(errorOf(await send(envelope(large), as))).toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
      details: { bytesMax: 200 },
    });
    // A role that the token has must also be claimed.
    const unclaimed = { ...clerk, principal: { sub: 'clerk', roles: [] } };
    expect(errorOf(await send(envelope(unclaimed), as)).code).toBe('FORBIDDEN');
  });

  it('is the answer for an envelope of another time or locality', async () => {
    const early = errorOf(await send(envelope({ timestamp: later(90_000) })));
    expect(early.code).toBe('INVALID_ARGUMENT');
    expect(early.details?.['errors']).toMatchObject([{ path: '/timestamp' }]);
    expect(taskOf(await send(envelope({ timestamp: later(30_000) }))).state).toBe('SUCCEEDED');
    const there = envelope({ data_locality: 'asia-southeast1' });
    expect(errorOf(await send(there)).code).toBe('UNAVAILABLE');
    const here = real.edge({ locality: 'Asia-Southeast1' });
    expect(taskOf(await send(there, {}, here)).state).toBe('SUCCEEDED');
    const away = envelope({ data_locality: 'europe-west4' });
    expect(errorOf(await send(away, {}, here)).code).toBe('FORBIDDEN');
  });

  it('is the answer for a subject of another tenant or domain', async () => {
    const by = (domain: string, tenant: string) =>
      send(envelope(), { transport: 'nats', subject: { domain, tenant } });
    expect(errorOf(await by('test', 'other')).code).toBe('FORBIDDEN');
    expect(errorOf(await by('agent_data', 'acme')).code).toBe('INVALID_ARGUMENT');
    expect(taskOf(await by('test', 'acme')).state).toBe('SUCCEEDED');
  });
});

/** An Edge whose every caller is `sub`, with these roles. */
const asClerk = (roles: readonly string[], sub = 'clerk') =>
  real.edge({
    identity: {
      authenticate: () => Promise.resolve({ sub, roles, tenant: 'acme', profile: 'A2A-Basic' }),
      verifyEnvelope: () => Promise.resolve(),
    },
  });

describe('a repeat', () => {
  it('returns the first result, whatever the order of its fields and its age', async () => {
    const payload = { schema_version: '1.0', text: 'once', subject: 'a' };
    const first = envelope({ payload });
    const { task_id } = taskOf(await send(first));
    const reordered = { subject: 'a', text: 'once', schema_version: '1.0' };
    const again = { ...first, payload: reordered, seq: 1, timestamp: later(-3_600_000) };
    const view = taskOf(await send(again));
    expect(view).toMatchObject({ task_id, state: 'SUCCEEDED', request_id: first.request_id });
  });

  it('of another principal’s key never returns the task of the first', async () => {
    const first = envelope();
    const { task_id } = taskOf(await send(first));
    const mine = { ...first, principal: { sub: 'clerk', roles: ['agent'] } };
    const view = taskOf(await send(mine, { authorization: 'Bearer clerk' }, asClerk(['agent'])));
    expect(view).toMatchObject({ state: 'SUCCEEDED', principal: 'clerk' });
    expect(view.task_id).not.toBe(task_id);
    const conflict = { ...mine, seq: mine.seq + 1, payload: { ...mine.payload, text: 'other' } };
    const error = errorOf(await send(conflict, {}, asClerk(['agent'])));
    expect(error).toMatchObject({ code: 'CONFLICT', details: { task_id: view.task_id } });
  });

  it('is refused without the role of its action, even if another caller sent the key first', async () => {
    const guarded = envelope({
      action: 'test.guard_door',
      principal: { sub: 'clerk', roles: ['clerk'] },
      payload: { schema_version: '1.0', text: 'x' },
    });
    taskOf(await send(guarded, { authorization: 'Bearer clerk' }));
    for (const sub of ['clerk', 'eve']) {
      const again = { ...guarded, principal: { sub, roles: [] } };
      expect(errorOf(await send(again, {}, asClerk([], sub))).code).toBe('FORBIDDEN');
    }
  });

  it('is recognized before the quota is checked', async () => {
    const first = envelope();
    await send(first);
    const quota = { take: () => ({ allowed: false, limit: 1, remaining: 0, retryAfterMs: 1 }) };
    expect(taskOf(await send(first, {}, real.edge({ quota }))).state).toBe('SUCCEEDED');
  });

  it('waits for the end of the first', async () => {
    const { asked, gate, id } = await held();
    const waiting = send(asked);
    real.gate.open(gate);
    expect(taskOf(await waiting)).toMatchObject({ task_id: id, state: 'SUCCEEDED' });
  });

  it('that arrives at the same time creates no second task', async () => {
    const asked = envelope();
    const views = (await Promise.all([1, 2, 3, 4].map(() => send(asked)))).map(taskOf);
    expect(new Set(views.map(({ task_id }) => task_id)).size).toBe(1);
    expect(views.map(({ state }) => state)).toEqual(Array(4).fill('SUCCEEDED'));
  });

  it('with another payload is a conflict', async () => {
    const first = envelope();
    const { task_id } = taskOf(await send(first));
    const other = { ...first, seq: first.seq + 1, payload: { ...first.payload, text: 'other' } };
    expect(errorOf(await send(other))).toMatchObject({ code: 'CONFLICT', details: { task_id } });
  });

  it('is recognized only in its tenant, action and subject', async () => {
    const first = envelope({ context_id: 'one' });
    const second = { ...first, seq: first.seq + 1, context_id: 'two' };
    const [a, b] = [taskOf(await send(first)), taskOf(await send(second))];
    expect(a.task_id).not.toBe(b.task_id);
    expect([a.subject, b.subject]).toEqual(['one', 'two']);
  });
});

describe('a sequence number', () => {
  it('that does not rise is a conflict that names the last one, per subject', async () => {
    const first = envelope({ context_id: 'numbers' });
    await send(first);
    const stale = envelope({ context_id: 'numbers', seq: first.seq });
    expect(errorOf(await send(stale))).toMatchObject({
      code: 'CONFLICT',
      details: { last_seq: first.seq },
    });
    const elsewhere = envelope({ context_id: 'other numbers', seq: 1 });
    expect(taskOf(await send(elsewhere)).state).toBe('SUCCEEDED');
  });

  it('that no other can follow is explained', async () => {
    await send(envelope({ context_id: 'full', seq: ENVELOPE_SEQ_MAX }));
    const { message } = errorOf(await send(envelope({ context_id: 'full' })));
    expect(message).toMatch(/no higher one is possible: use another subject/);
  });
});

describe('limits', () => {
  it('are reported with every answer, and a refusal has a retry delay', async () => {
    const limits = { principalPerMinute: 2, externalPerMinute: 1, tenantPerMinute: 1_000 };
    const quota = new TokenQuota(limits, real.system, systemClock);
    const tight = real.edge({ quota });
    const answers = [];
    for (let n = 0; n < 3; n++) answers.push(await send(envelope(), {}, tight));
    expect(answers.map(({ rate }) => rate)).toEqual([
      { limit: 2, remaining: 1 },
      { limit: 2, remaining: 0 },
      { limit: 2, remaining: 0 },
    ]);
    const error = errorOf(answers[2]!);
    expect(error.code).toBe('RATE_LIMIT_EXCEEDED');
    expect(error.retryAfterMs).toBeGreaterThan(0);
  });

  it('refuse more concurrent envelopes than the maximum', async () => {
    const narrow = real.edge({ outstanding: { messages: 1, bytes: 1e6 } });
    const gate = 'narrow';
    const slow = envelope({
      action: 'test.hold_work',
      payload: { schema_version: '1.0', gate },
    });
    const first = send(slow, {}, narrow);
    expect(errorOf(await send(envelope(), {}, narrow))).toMatchObject({
      code: 'RATE_LIMIT_EXCEEDED',
      details: { limit: 'outstanding' },
    });
    await eventually(() => expect(real.gate.begun).toContain(gate));
    real.gate.open(gate);
    expect(taskOf(await first).state).toBe('SUCCEEDED');
    expect(taskOf(await send(envelope(), {}, narrow)).state).toBe('SUCCEEDED');
  });

  it('refuse new tasks of a tenant at its maximum, and delete none', async () => {
    const first = envelope();
    const { task_id } = taskOf(await send(first));
    const rows = () => real.system.index.list(TASKS_INDEX, 'acme', { limit: 1e6 }).length;
    const full = real.edge({ tasksMax: rows });
    await eventually(async () =>
      expect(errorOf(await send(envelope(), {}, full))).toMatchObject({
        code: 'RATE_LIMIT_EXCEEDED',
        details: { limit: 'tasks' },
      }),
    );
    expect(taskOf(await send(first, {}, full)).task_id).toBe(task_id);
  });
});

it('the facts of every envelope are reported with its outcome', async () => {
  const facts: EdgeFacts[] = [];
  const counted = real.edge({ onRequest: (fact) => facts.push(fact) });
  await send(envelope(), {}, counted);
  await send(envelope({ payload: { schema_version: '1.0' } }), {}, counted);
  await send('nonsense', {}, counted);
  expect(facts).toMatchObject([
    { action: 'test.echo_text', tenant: 'acme', principal: 'alice', status: 'SUCCEEDED' },
    { action: 'test.echo_text', status: 'REFUSED', errorCode: 'INVALID_ARGUMENT' },
    { action: undefined, tenant: undefined, status: 'REFUSED', errorCode: 'INVALID_ARGUMENT' },
  ]);
  expect(facts[0]!.quotaUsed).toBeGreaterThan(0);
});

it('an internal error is reported to a caller without details', async () => {
  const logged: object[] = [];
  const broken = real.edge({
    offers: {
      find() {
        throw new Error('secret cause');
      },
      all: () => [],
    },
    log: { error: (facts) => logged.push(facts) },
  });
  const error = errorOf(await send(envelope(), {}, broken));
  expect(error.code).toBe('INTERNAL');
  expect(JSON.stringify(error)).not.toContain('secret');
  expect(logged).toHaveLength(1);
});
