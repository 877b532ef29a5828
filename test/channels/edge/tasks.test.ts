import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Edge, EdgeAnswer } from '../../../channels/edge/edge.ts';
import type { Envelope } from '../../../protocols/envelope.ts';
import { errorData, TroupeError } from '../../../protocols/errors.ts';
import { taskTopic } from '../../../protocols/task.ts';
import { eventually } from '../../runtime/eventually.ts';
import {
  bytesOf,
  envelope,
  errorOf,
  openRealTasks,
  type RealTasks,
  sender,
  taskOf,
} from './real-tasks.ts';

let real: RealTasks;
let edge: Edge;
beforeAll(async () => {
  real = await openRealTasks();
  edge = real.edge();
});
afterAll(() => real.stop());

const send = sender(() => edge);

/** A task that runs until `real.gate.open(key)`. */
const held = async (more: Partial<Envelope> = {}) => {
  const asked = envelope({ action: 'test.hold_work', ...more });
  const gate = asked.idempotency_key;
  const whole = { ...asked, payload: { schema_version: '1.0', gate } };
  const view = taskOf(await send(whole, { waitMs: 0 }));
  await eventually(() => expect(real.gate.begun).toContain(gate));
  return { gate, asked: whole, id: view.task_id, view };
};

describe('a task of an action that requires a role', () => {
  const guarded = () =>
    envelope({
      action: 'test.guard_door',
      principal: { sub: 'clerk', roles: ['clerk'] },
      payload: { schema_version: '1.0', text: 'x' },
    });
  const readers = {
    'a caller with the role': { sub: 'eve', roles: ['clerk'] },
    'the caller that submitted the task and has lost the role since': { sub: 'clerk', roles: [] },
    'an operator': { sub: 'op', roles: ['operator'] },
  };
  const edgeOf = (caller: { sub: string; roles: readonly string[] }) =>
    real.edge({
      identity: {
        authenticate: () => Promise.resolve({ ...caller, tenant: 'acme', profile: 'A2A-Basic' }),
        verifyEnvelope: () => Promise.resolve(),
      },
    });
  const asked = async () => {
    const as = { authorization: 'Bearer clerk' };
    return taskOf(await send(guarded(), as)).task_id;
  };
  const eventsOf = async (of: Edge, id: string) => {
    const names: string[] = [];
    for await (const { event } of of.events(id, {}, { after: 0, signal: AbortSignal.timeout(9e3) }))
      names.push(event);
    return names;
  };

  it.each(Object.entries(readers))('is read by %s', async (_, caller) => {
    const id = await asked();
    const of = edgeOf(caller);
    expect(await of.task(id, {})).toMatchObject({ task_id: id });
    expect(await eventsOf(of, id)).toContain('test.guard_door.done');
  });

  it('is not read by other callers through any operation', async () => {
    const id = await asked();
    const as = { authorization: 'Bearer alice' };
    await expect(edge.task(id, as)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const alice = edgeOf({ sub: 'alice', roles: ['agent'] });
    await expect(eventsOf(alice, id)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const payload = { schema_version: '1.0', task_id: id };
    const status = await send(envelope({ action: 'task.get_status', payload }));
    expect(errorOf(status).code).toBe('NOT_FOUND');
  });
});

describe('a task of an action without roles', () => {
  const reached = async (sub: string, roles: readonly string[]) => {
    const asked = envelope({ action: 'test.ask_word', payload: { schema_version: '1.0' } });
    const { task_id: id } = taskOf(await send(asked, { waitMs: 0 }));
    const identity = {
      authenticate: () =>
        Promise.resolve({ sub, roles, tenant: 'acme', profile: 'A2A-Basic' as const }),
      verifyEnvelope: () => Promise.resolve(),
    };
    const other = real.edge({ identity });
    const by = (action: string, payload: object) => ({
      ...envelope({ action, payload: { schema_version: '1.0', task_id: id, ...payload } }),
      principal: { sub, roles: [...roles] },
    });
    const codeOf = (attempt: Promise<unknown>) =>
      attempt.then(
        (answer) =>
          (answer as EdgeAnswer).kind === 'refused' ? errorOf(answer as EdgeAnswer).code : 'ok',
        (error: { code: string }) => error.code,
      );
    const follow = async () => {
      const signal = AbortSignal.timeout(100);
      for await (const _ of other.events(id, {}, { after: 0, signal })) return 'ok';
      return 'ok';
    };
    return [
      await codeOf(other.task(id, {})),
      await codeOf(follow()),
      await codeOf(other.submit({ transport: 'nats', bytes: bytesOf(by('task.get_status', {})) })),
      await codeOf(other.input(id, {}, '')),
      await codeOf(
        other.submit({
          transport: 'nats',
          bytes: bytesOf(by('task.provide_input', { input: '' })),
        }),
      ),
      await codeOf(
        other.submit({ transport: 'nats', bytes: bytesOf(by('test.ask_word.cancel', {})) }),
      ),
      await codeOf(other.cancel(id, {})),
    ];
  };

  it('is read only by its caller and operators', async () => {
    expect(new Set(await reached('eve', ['agent']))).toEqual(new Set(['NOT_FOUND']));
    expect(new Set(await reached('eve', []))).toEqual(new Set(['NOT_FOUND']));
    for (const [sub, role] of [
      ['alice', 'agent'],
      ['op', 'operator'],
    ] as const) {
      const codes = await reached(sub, [role]);
      expect(codes).not.toContain('NOT_FOUND');
    }
  });
});

describe('control', () => {
  const control = (action: string, payload: object) =>
    envelope({ action, payload: { schema_version: '1.0', ...payload }, seq: 1 });

  it('returns the current task, also with a used number', async () => {
    const { task_id } = taskOf(await send(envelope()));
    const view = taskOf(await send(control('task.get_status', { task_id })));
    expect(view).toMatchObject({ task_id, state: 'SUCCEEDED' });
    const none = await send(control('task.get_status', { task_id: 'none' }));
    expect(errorOf(none).code).toBe('NOT_FOUND');
    expect(errorOf(await send(control('task.get_status', {}))).details).toMatchObject({
      errors: [{ path: '/payload/task_id' }],
    });
  });

  it('cancels a running task by its id or key, and may be repeated', async () => {
    const { id, asked, gate } = await held();
    const cancel = control('test.hold_work.cancel', { task_id: id, reason: 'no need' });
    expect(taskOf(await send(cancel))).toMatchObject({ task_id: id, state: 'CANCELLED' });
    const { idempotency_key } = asked;
    const again = control('test.hold_work.cancel', { idempotency_key });
    expect(taskOf(await send(again))).toMatchObject({ task_id: id, state: 'CANCELLED' });
    expect(gate).toBe(idempotency_key);
    const wrong = control('test.echo_text.cancel', { task_id: id });
    expect(errorOf(await send(wrong)).code).toBe('NOT_FOUND');
  });

  it('finds the key of a cancel by its subject, which is the context without one', async () => {
    const { id, gate } = await held({ context_id: 'trip-7' });
    const named = { idempotency_key: gate };
    const elsewhere = control('test.hold_work.cancel', named);
    expect(errorOf(await send(elsewhere)).code).toBe('NOT_FOUND');
    const cancel = { ...control('test.hold_work.cancel', named), context_id: 'trip-7' };
    expect(taskOf(await send(cancel))).toMatchObject({ task_id: id, state: 'CANCELLED' });
    const repeat = control('test.hold_work.cancel', { ...named, subject: 'trip-7' });
    expect(taskOf(await send(repeat))).toMatchObject({ task_id: id });
  });

  it('requires a signed envelope if envelopes must be signed', async () => {
    const as = { authorization: 'Bearer mallory' };
    const theirs = { tenant_id: 'other', principal: { sub: 'mallory', roles: ['agent'] } };
    const asked = { ...envelope({ action: 'test.ask_word', ...theirs }) };
    const payload = { schema_version: '1.0' };
    const { task_id } = taskOf(await send({ ...asked, payload }, { ...as, waitMs: 0 }));
    await expect(edge.cancel(task_id, as)).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
    await expect(edge.input(task_id, as, 1)).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
    const cancel = { ...control('test.ask_word.cancel', { task_id }), ...theirs };
    expect(taskOf(await send(cancel, as))).toMatchObject({ state: 'CANCELLED' });
  });

  it('does not cancel an ended task', async () => {
    const { task_id } = taskOf(await send(envelope()));
    const cancel = control('test.echo_text.cancel', { task_id });
    expect(errorOf(await send(cancel))).toMatchObject({
      code: 'CONFLICT',
      details: { state: 'SUCCEEDED' },
    });
  });

  it('passes an input to a waiting task, once', async () => {
    const asked = envelope({ action: 'test.ask_word', payload: { schema_version: '1.0' } });
    const { task_id } = taskOf(await send(asked, { waitMs: 0 }));
    await eventually(async () => {
      const view = await edge.task(task_id, { authorization: 'Bearer alice' });
      expect(view.waiting).toMatchObject({ for: 'input', prompt: 'which word?' });
    });
    const nothing = control('task.provide_input', { task_id, input: '' });
    expect(errorOf(await send(nothing))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      details: { errors: [{ path: '/input' }] },
    });
    const word = control('task.provide_input', { task_id, input: 'Wort' });
    taskOf(await send(word));
    await eventually(async () => {
      const view = await edge.task(task_id, { authorization: 'Bearer alice' });
      expect(view).toMatchObject({ state: 'SUCCEEDED', result: { word: 'Wort' } });
    });
    const second = control('task.provide_input', { task_id, input: 'zu spät' });
    expect(errorOf(await send(second)).code).toBe('CONFLICT');
    taskOf(await send(word));
  });

  it('recognizes a repeated input after the next question, and checks an approval', async () => {
    const asked = envelope({ action: 'test.ask_thrice', payload: { schema_version: '1.0' } });
    const { task_id } = taskOf(await send(asked, { waitMs: 0 }));
    const as = { authorization: 'Bearer alice' };
    const waitsFor = (prompt: string) =>
      eventually(async () => {
        expect((await edge.task(task_id, as)).waiting).toMatchObject({ prompt });
      });
    const first = control('task.provide_input', { task_id, input: '7' });
    const second = control('task.provide_input', { task_id, input: 7 });
    await waitsFor('a text?');
    taskOf(await send(first));
    await waitsFor('a number?');
    // The number is no answer to the first question, whose key it has.
    const other = { ...second, idempotency_key: first.idempotency_key };
    expect(errorOf(await send(other))).toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('another input'),
    });
    expect(taskOf(await send(first)).waiting).toMatchObject({ prompt: 'a number?' });
    taskOf(await send(second));
    await waitsFor('all right?');
    for (const one of [first, second])
      expect(taskOf(await send(one)).waiting).toMatchObject({ prompt: 'all right?' });
    for (const input of ['false', 'maybe', '', null, 1, {}, { approved: 'no' }, { data: 'no' }]) {
      const wrong = await send(control('task.provide_input', { task_id, input }));
      expect(errorOf(wrong)).toMatchObject({
        code: 'INVALID_ARGUMENT',
        details: { errors: [{ path: '/input' }] },
      });
      await expect(edge.input(task_id, as, input)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
    }
    const last = control('task.provide_input', { task_id, input: { approved: false } });
    taskOf(await send(last));
    await eventually(async () => {
      const view = await edge.task(task_id, as);
      expect(view).toMatchObject({ state: 'SUCCEEDED', result: { inputs: ['7', 7, false] } });
    });
    for (const one of [first, second, last])
      expect(taskOf(await send(one)).state).toBe('SUCCEEDED');
  });

  it('reaches no task of another tenant', async () => {
    const { id, gate } = await held();
    const asked = control('test.hold_work.cancel', { task_id: id });
    const theirs = { ...asked, tenant_id: 'other', principal: { sub: 'mallory', roles: [] } };
    const as = { authorization: 'Bearer mallory' };
    expect(errorOf(await send(theirs, as)).code).toBe('NOT_FOUND');
    await expect(edge.task(id, as)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(edge.cancel(id, as)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    real.gate.open(gate);
  });
});

it('a refusal by seq is distinguished from other conflicts', async () => {
  const seen: boolean[] = [];
  const counting = real.edge({ onRequest: ({ seqRefused }) => void seen.push(seqRefused) });
  const first = envelope({ context_id: 'numbered' });
  const late = { ...envelope({ context_id: 'numbered' }), seq: first.seq - 1 };
  const other = { ...first, payload: { ...first.payload, text: 'other' } };
  for (const one of [first, late, other]) await send(one, {}, counting);
  expect(seen).toEqual([false, true, false]);
});

it('a missing task is looked up again in rows that are as new as the request', async () => {
  const { task_id } = taskOf(await send(envelope()));
  const { system } = real;
  const caughtUp = new Set<string>();
  // a gateway whose replica is outdated until it catches up
  const late = {
    get: (...args: Parameters<typeof system.index.get>) =>
      caughtUp.has(args[2]) ? system.index.get(...args) : undefined,
    list: () => [],
  };
  const behind = {
    index: late,
    caughtUp: async (actor: string) => void caughtUp.add(actor.split('/')[2]!),
  };
  const other = real.edge({ system: Object.assign(Object.create(system), behind) });
  const as = { authorization: 'Bearer alice' };
  expect(await other.task(task_id, as)).toMatchObject({ task_id });
  for (const none of ['none', '', '\u0000', 'x'.repeat(10_000)])
    for (const name of [none, '\u0000', 'a'.repeat(8_000)])
      await expect(other.task(name, as)).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

it('a task of another caller is refused with the same delay and failures as a missing one', async () => {
  const { task_id } = taskOf(await send(envelope()));
  const { system } = real;
  let asked = 0;
  const caughtUp = () => {
    asked++;
    return Promise.reject(new TroupeError('UNAVAILABLE', 'no shard is open'));
  };
  const other = real.edge({ system: Object.assign(Object.create(system), { caughtUp }) });
  const codes = [task_id, task_id.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'))].map((id) =>
    other.task(id, { authorization: 'Bearer clerk' }).then(
      () => 'found',
      (error: unknown) => errorData(error).code,
    ),
  );
  expect(await Promise.all(codes)).toEqual(['UNAVAILABLE', 'UNAVAILABLE']);
  expect(asked).toBe(2);
  const own = await other.task(task_id, { authorization: 'Bearer alice' });
  expect(own).toMatchObject({ task_id });
});

describe('events', () => {
  const as = { authorization: 'Bearer alice' };
  const received = async (id: string, after: number, from: Edge = edge) => {
    const events: [number, string][] = [];
    const signal = AbortSignal.timeout(20_000);
    for await (const { n, event, event_id } of from.events(id, as, { after, signal })) {
      expect(event_id).toBe(`${id}.${n}`);
      events.push([n, event.slice(event.lastIndexOf('.') + 1)]);
    }
    expect(signal.aborted).toBe(false);
    return events;
  };

  it('arrive once each and in order, past and live, until the end', async () => {
    const { id, gate } = await held();
    const whole = received(id, 0);
    const rest = received(id, 2);
    real.gate.open(gate);
    expect(await whole).toEqual([
      [1, 'accepted'],
      [2, 'running'],
      [3, 'done'],
    ]);
    expect(await rest).toEqual([[3, 'done']]);
    expect(await received(id, 3)).toEqual([]);
  });

  it('that the Bus loses are read from the row', async () => {
    const { system } = real;
    const silent = { subscribe: () => () => {} };
    const deaf = real.edge({ system: Object.assign(Object.create(system), { bus: silent }) });
    const { id, gate } = await held();
    const events = received(id, 0, deaf);
    real.gate.open(gate);
    expect((await events).map(([, name]) => name)).toEqual(['accepted', 'running', 'done']);
  });

  it('of an unknown task are refused', async () => {
    await expect(received('none', 0)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('and all waits end when the Edge closes', async () => {
    const leaving = real.edge();
    const { id, gate, asked } = await held();
    const waiting = send(asked, {}, leaving);
    const events = received(id, 0, leaving);
    leaving.close();
    expect(taskOf(await waiting).state).toBe('RUNNING');
    expect((await events).map(([n]) => n)).toEqual([1, 2]);
    real.gate.open(gate);
  });

  it('are those that are published on the topic of the task', async () => {
    const { id, gate } = await held();
    const topic = taskTopic('acme', id);
    const published: unknown[] = [];
    const off = real.system.bus.subscribe(topic, ({ payload }) => published.push(payload));
    real.gate.open(gate);
    await eventually(() =>
      expect(published).toMatchObject([{ n: 3, event: 'test.hold_work.done' }]),
    );
    off();
  });
});
