import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { setup } from 'xstate';
import { address } from '../../../protocols/address.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { effect, hostActions } from '../../../protocols/statechart.ts';
import { createSystem, defineActor, openEmbedded, type System } from '../../../runtime/index.ts';
import { chatSpan, inSpan, recordServed, toolSpan } from '../../../runtime/observe/spans.ts';
import { eventually } from '../eventually.ts';
import { type RecordingTracer, registerTracer } from './tracer.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const callerSpan = '00f067aa0ba902b7';

let tracer: RecordingTracer;
beforeEach(() => {
  tracer = registerTracer();
});
afterEach(() => tracer.stop());

describe('work that an envelope causes', () => {
  /** Forwards the work to another actor, which executes it as an effect. */
  const clerk = defineActor({
    type: 'clerk',
    version: 1,
    machine: setup({
      types: { events: {} as { type: 'work' } },
      actions: hostActions,
    }).createMachine({
      id: 'clerk',
      context: {},
      on: {
        work: {
          actions: {
            type: 'tell',
            params: { to: address('default', 'worker', 'one'), event: { type: 'work' } },
          },
        },
      },
    }),
  });
  const worker = defineActor({
    type: 'worker',
    version: 1,
    machine: setup({
      types: { events: {} as { type: 'work' } },
      actors: { fail: effect<string, object>() },
      actions: hostActions,
    }).createMachine({
      id: 'worker',
      context: {},
      initial: 'idle',
      states: {
        idle: { on: { work: 'working' } },
        working: {
          invoke: { id: 'fail', src: 'fail', input: {}, onDone: 'idle', onError: 'idle' },
        },
      },
    }),
    effects: {
      fail: {
        class: 'repeatable',
        run: () =>
          inSpan(
            () => chatSpan({ provider: 'offline', model: 'echo' }),
            () => Promise.reject(new TroupeError('UNAVAILABLE', 'the secret is 4711')),
          ),
      },
    },
  });
  let path: string;
  let system: System;
  beforeEach(async () => {
    path = mkdtempSync(join(tmpdir(), 'troupe-spans-'));
    const ports = await openEmbedded({ path });
    system = await createSystem({ ...ports, actors: [clerk, worker], shards: 4 });
  });
  afterEach(async () => {
    await system.stop();
    rmSync(path, { recursive: true, force: true });
  });
  const tell = (id?: string) =>
    system.tell(
      address('default', 'clerk', 'one'),
      { type: 'work' },
      { principal: { sub: 'ada', roles: [] }, ...(id ? { traceId: id } : {}) },
    );

  it('is in its trace: through two mailboxes to the effect, and what the effect calls', async () => {
    await tell(traceId);
    const [call, attempt] = await eventually(() => {
      expect(tracer.spans()).toHaveLength(2);
      return tracer.spans();
    });
    expect(attempt).toMatchObject({ name: 'effect worker.fail', kind: SpanKind.INTERNAL });
    expect(attempt!.attributes).toMatchObject({ 'troupe.attempt': 1, 'troupe.effect': 'fail' });
    expect(call).toMatchObject({ name: 'chat echo', kind: SpanKind.CLIENT });
    expect([call, attempt].map((span) => span!.spanContext().traceId)).toEqual([traceId, traceId]);
    expect(call!.parentSpanContext?.spanId).toBe(attempt!.spanContext().spanId);
  });

  it('has a span for each turn whose input has the trace, ended when its record counts', async () => {
    await tell(traceId);
    const turns = await eventually(() => {
      expect(tracer.turns()).toHaveLength(3);
      return tracer.turns();
    });
    expect(turns.map(({ name }) => name)).toEqual([
      'turn clerk.work',
      'turn worker.work',
      'turn worker.fail ended',
    ]);
    for (const turn of turns) {
      expect(turn.spanContext().traceId).toBe(traceId);
      expect(turn.attributes).toMatchObject({ 'troupe.result': 'applied' });
    }
  });

  it('has no span for a turn without a trace', async () => {
    await tell();
    await eventually(() => expect(tracer.spans()).toHaveLength(2));
    expect(tracer.turns()).toEqual([]);
  });

  it('records an error by its code and never by its text', async () => {
    await tell(traceId);
    await eventually(() => expect(tracer.spans()).toHaveLength(2));
    for (const { attributes, status, events } of tracer.spans()) {
      expect(attributes['error.type']).toBe('UNAVAILABLE');
      expect(status).toEqual({ code: SpanStatusCode.ERROR });
      expect(events).toEqual([]);
    }
    const recorded = tracer
      .spans()
      .map(({ name, attributes, status }) => [name, attributes, status]);
    expect(JSON.stringify(recorded)).not.toContain('4711');
  });

  it('starts a new trace when none is given, regardless of the active span', async () => {
    await inSpan(
      () => toolSpan({ name: 'elsewhere', id: '1' }),
      async () => {
        await tell();
      },
    );
    await eventually(() => expect(tracer.spans()).toHaveLength(3));
    const attempt = tracer.spans().find(({ name }) => name === 'effect worker.fail')!;
    const other = tracer.spans().find(({ name }) => name === 'execute_tool elsewhere')!;
    expect(attempt.parentSpanContext).toBeUndefined();
    expect(attempt.spanContext().traceId).not.toBe(other.spanContext().traceId);
  });
});

describe('an envelope that was answered', () => {
  const served = {
    transport: 'http',
    action: 'orders.place_order',
    tenant: 'acme',
    taskId: 'task-1',
    requestId: 'request-1',
    traceId,
    begunAt: 1_700_000_000_000,
    endedAt: 1_700_000_000_012,
    status: 'SUCCEEDED',
  };

  it('is a span under the span of the caller, with its own times', () => {
    recordServed({
      ...served,
      traceparent: `00-${traceId}-${callerSpan}-01`,
      tracestate: 'vendor=a',
    });
    const [span] = tracer.spans();
    expect(span).toMatchObject({
      name: 'a2a.submit orders.place_order',
      kind: SpanKind.SERVER,
      startTime: [1_700_000_000, 0],
      endTime: [1_700_000_000, 12_000_000],
      parentSpanContext: { traceId, spanId: callerSpan },
      attributes: { 'troupe.task_id': 'task-1', 'troupe.status': 'SUCCEEDED' },
      links: [],
    });
    expect(span!.spanContext()).toMatchObject({ traceId });
    expect(span!.spanContext().traceState?.get('vendor')).toBe('a');
  });

  it('is in the trace of its envelope, and only linked with a caller that traces elsewhere', () => {
    const elsewhere = traceId.replace('4', '5');
    recordServed({ ...served, traceparent: `00-${elsewhere}-${callerSpan}-01` });
    const [span] = tracer.spans();
    expect(span!.spanContext().traceId).toBe(traceId);
    expect(span!.links).toMatchObject([{ context: { traceId: elsewhere, spanId: callerSpan } }]);
  });

  it('is in the trace of its envelope when the caller sends no trace context', () => {
    recordServed(served);
    recordServed({ ...served, traceId: `${'0'.repeat(15)}1${'0'.repeat(16)}` });
    expect(tracer.spans().map((span) => span.spanContext().traceId)).toEqual([
      traceId,
      `${'0'.repeat(15)}1${'0'.repeat(16)}`,
    ]);
  });

  it('that was refused before it could be read is in the trace of the caller', () => {
    const { transport, begunAt, endedAt } = served;
    recordServed({
      transport,
      begunAt,
      endedAt,
      traceparent: `00-${traceId}-${callerSpan}-01`,
      status: 'REFUSED',
      error: 'INVALID_ARGUMENT',
    });
    const [span] = tracer.spans();
    expect(span).toMatchObject({
      name: 'a2a.submit',
      status: { code: SpanStatusCode.ERROR },
      attributes: { 'error.type': 'INVALID_ARGUMENT' },
    });
    expect(span!.spanContext().traceId).toBe(traceId);
  });

  it('of a caller that does not record is not recorded', () => {
    recordServed({ ...served, traceparent: `00-${traceId}-${callerSpan}-00` });
    expect(tracer.spans()).toEqual([]);
  });
});

it('works without recording when no tracer is registered', async () => {
  await tracer.stop();
  const span = await inSpan(
    () => toolSpan({ name: 'read', id: '1' }),
    async (active) => active,
  );
  expect(span.isRecording()).toBe(false);
  expect(trace.getActiveSpan()).toBeUndefined();
  recordServed({ transport: 'nats', begunAt: 0, endedAt: 1, status: 'ACKED', traceId });
});
