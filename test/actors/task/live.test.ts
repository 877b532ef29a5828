/** Tasks in a real system: submits through their sequence, repeats, cancels, failures. */
import { describe, expect, it } from 'vitest';
import { withLinks } from '../../../actors/task/action.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { type TaskEvent, taskTopic } from '../../../protocols/task.ts';
import { eventually } from '../../runtime/eventually.ts';
import { operator } from '../../runtime/system/world.ts';
import { errorIn, openDesk, viewIn } from './task-service.ts';

const away = () => new TroupeError('UNAVAILABLE', 'the other side is away');

describe('a task', () => {
  it('is accepted at once and publishes its progress in order', async () => {
    const desk = await openDesk();
    const job = desk.job();
    const published: TaskEvent[] = [];
    desk.world.system.bus.subscribe(taskTopic('t', job.id), ({ payload }) => {
      published.push(payload as TaskEvent);
    });
    expect(await job.view()).toMatchObject({ task_id: job.id, state: 'RUNNING', attempt: 1 });
    (await desk.work.began(1)).done({ ok: true });
    const view = await job.is({ state: 'SUCCEEDED' });
    expect(view.result).toEqual({ ok: true });
    const names = ['demo.do_thing.accepted', 'demo.do_thing.running', 'demo.do_thing.done'];
    expect(view.events.map(({ event }) => event)).toEqual(names);
    // Only the newest event of a turn is published; the earlier ones are in its view.
    await eventually(() => expect(published.map(({ event }) => event)).toEqual(names.slice(1)));
    expect(published.map(({ event_id }) => event_id)).toEqual([2, 3].map((n) => `${job.id}.${n}`));
  });

  it('is answered at its end if the caller waits for that', async () => {
    const desk = await openDesk();
    const answer = desk.job().view({ answer: 'done' });
    (await desk.work.began(1)).done(withLinks(7, [{ uri: 'urn:seven', name: 'seven' }]));
    expect(await answer).toMatchObject({
      state: 'SUCCEEDED',
      result: 7,
      resource_links: [{ uri: 'urn:seven', name: 'seven' }],
    });
  });

  it('is found by a repeat, while it runs and when it has ended, and runs once', async () => {
    const desk = await openDesk();
    const job = desk.job();
    await job.view();
    expect(await job.view()).toMatchObject({ state: 'RUNNING' });
    const waiting = job.view({ answer: 'done' });
    const run = await desk.work.began(1);
    run.done('first');
    const first = await waiting;
    expect(await job.view()).toEqual(first);
    expect(await job.view({ answer: 'done' })).toEqual(first);
    expect(desk.work.all).toHaveLength(1);
  });

  it('refuses another payload under its key, which it names', async () => {
    const desk = await openDesk();
    const job = desk.job();
    await job.view();
    const other = await job.submit({ payloadHash: 'another' });
    expect(errorIn(other)).toMatchObject({ code: 'CONFLICT', details: { idempotency_key: 'k1' } });
  });

  it('that is late in the order of its sender is refused without a trace; a repeat is not', async () => {
    const desk = await openDesk();
    const first = desk.job({ seq: 5 });
    await first.view();
    const late = desk.job({ seq: 5, idempotency_key: 'k2' });
    expect(errorIn(await late.submit())).toMatchObject({
      code: 'CONFLICT',
      details: { last_seq: 5 },
    });
    expect(late.row()).toBeUndefined();
    expect(desk.world.system.inspect(late.address)).toBeUndefined();
    expect(await first.view()).toMatchObject({ task_id: first.id });
    const next = desk.job({ seq: 6, idempotency_key: 'k2' });
    expect(await next.view()).toMatchObject({ state: 'RUNNING' });
  });

  it('that starts after its time has expired and is not executed', async () => {
    const desk = await openDesk();
    const job = desk.job({ timestamp: '2020-01-01T00:00:00Z', ttl_sec: 60 });
    expect(await job.view()).toMatchObject({ state: 'EXPIRED', error: { code: 'EXPIRED' } });
    expect(desk.work.all).toEqual([]);
  });

  it('that exceeds its time limit is FAILED, and its result is ignored', async () => {
    const desk = await openDesk(() => ({ etaSec: 1 }));
    const job = desk.job();
    const answer = job.view({ answer: 'done' });
    const run = await desk.work.began(1);
    expect(await answer).toMatchObject({ state: 'FAILED', error: { code: 'DEADLINE_EXCEEDED' } });
    expect(run.context.signal.aborted).toBe(true);
    const [letter] = await desk.world.letters(1);
    expect(letter).toMatchObject({ reason: 'TIME_IS_UP', domain: 'demo' });
    expect(desk.given).toEqual(['TIME_IS_UP DEADLINE_EXCEEDED']);
  });

  it('continues after a restart, as another attempt under the same key', async () => {
    const desk = await openDesk();
    const job = desk.job();
    await job.view();
    const first = await desk.work.began(1);
    await desk.world.restart();
    const second = await desk.work.began(2);
    expect(second.context.idempotencyKey).toBe(first.context.idempotencyKey);
    first.done('too late');
    second.done('in time');
    expect((await job.is({ state: 'SUCCEEDED' })).result).toBe('in time');
    await desk.world.restart();
    expect(await job.view()).toMatchObject({ state: 'SUCCEEDED', result: 'in time' });
    expect(desk.work.all).toHaveLength(2);
  });
});

describe('a cancel', () => {
  it('ends running work with a notification, and is answered with the view', async () => {
    const desk = await openDesk();
    const job = desk.job();
    const waiting = job.view({ answer: 'done' });
    const run = await desk.work.began(1);
    expect(viewIn(await job.cancel())).toMatchObject({ state: 'CANCELLED' });
    expect(await waiting).toMatchObject({ state: 'CANCELLED', error: { code: 'CANCELLED' } });
    await eventually(() => expect(run.context.signal.aborted).toBe(true));
    run.done('too late');
    expect(viewIn(await job.cancel())).toMatchObject({ state: 'CANCELLED' });
  });

  it('of an ended task is a conflict that contains its state', async () => {
    const desk = await openDesk();
    const job = desk.job();
    const waiting = job.view({ answer: 'done' });
    (await desk.work.began(1)).done();
    await waiting;
    expect(errorIn(await job.cancel())).toMatchObject({
      code: 'CONFLICT',
      details: { state: 'SUCCEEDED', task_id: job.id },
    });
  });

  it('of an unknown task is NOT_FOUND and creates none', async () => {
    const desk = await openDesk();
    const job = desk.job();
    expect(errorIn(await job.cancel())).toMatchObject({ code: 'NOT_FOUND' });
    expect(desk.world.system.inspect(job.address)).toBeUndefined();
  });

  it('and a concurrent completion have one winner, which both answers name', async () => {
    const desk = await openDesk();
    const winners = new Set<string>();
    for (let n = 1; n <= 20; n++) {
      const job = desk.job({ seq: n, idempotency_key: `race ${n}` });
      const waiting = job.view({ answer: 'done' });
      const run = await desk.work.began(n);
      const cancelled = n % 2 === 0 ? job.cancel() : undefined;
      run.done('done');
      const [view, answer] = await Promise.all([waiting, cancelled ?? job.cancel()]);
      winners.add(view.state);
      await eventually(() => expect(job.row()?.view).toEqual(view));
      if (view.state === 'CANCELLED') expect(viewIn(answer)).toEqual(view);
      else expect(errorIn(answer).details).toMatchObject({ state: 'SUCCEEDED' });
    }
    expect([...winners].filter((state) => !/CANCELLED|SUCCEEDED/.test(state))).toEqual([]);
  });

  it('of work that can be undone undoes it, and is answered when that is done', async () => {
    const desk = await openDesk(({ undo }) => ({ compensate: undo.run }));
    const job = desk.job();
    await job.view();
    await desk.work.began(1);
    const answers = [job.cancel(), job.cancel()];
    const undo = await desk.undo.began(1);
    await job.is({ state: 'RUNNING', compensating: true });
    expect(undo.context.idempotencyKey).toBe(`${job.id}.undo`);
    undo.done();
    for (const answer of await Promise.all(answers))
      expect(viewIn(answer)).toMatchObject({ state: 'COMPENSATED', outcome: 'CANCELLED' });
  });
});

describe('work that fails', () => {
  it('is retried, then becomes a dead letter of its domain, and can be redriven', async () => {
    const desk = await openDesk(() => ({ attemptsMax: 3 }));
    const job = desk.job();
    const waiting = job.view({ answer: 'done' });
    for (let n = 1; n <= 3; n++) (await desk.work.began(n)).failed(away());
    expect(await waiting).toMatchObject({
      state: 'FAILED',
      attempt: 3,
      error: { code: 'UNAVAILABLE', message: 'the other side is away' },
    });
    expect(desk.counted).toEqual(['retry UNAVAILABLE', 'retry UNAVAILABLE']);
    expect(desk.given).toEqual(['EXHAUSTED UNAVAILABLE']);
    const { deadLetters } = desk.world.system;
    const [letter] = await desk.world.letters(1);
    expect(letter).toMatchObject({
      domain: 'demo',
      reason: 'EXHAUSTED',
      error: { code: 'UNAVAILABLE' },
    });
    await deadLetters.redrive(letter!.position, { who: operator.sub, why: 'it is back' }, 'demo');
    const again = await desk.work.began(4);
    expect(again.context).toMatchObject({ idempotencyKey: job.id, taskId: `${job.id}.r1` });
    again.done('at last');
    expect(await job.is({ state: 'SUCCEEDED' }, `${job.id}.r1`)).toMatchObject({
      result: 'at last',
    });
    await job.is({ state: 'FAILED' });
  });

  it('of a code that no other attempt would change fails at once, and is no dead letter', async () => {
    const desk = await openDesk();
    const waiting = desk.job().view({ answer: 'done' });
    (await desk.work.began(1)).failed(new TroupeError('FORBIDDEN', 'not for you'));
    expect(await waiting).toMatchObject({ state: 'FAILED', attempt: 1 });
    expect(await desk.world.system.deadLetters.list()).toEqual([]);
  });

  it('and may have done something is undone', async () => {
    const desk = await openDesk(({ undo }) => ({ attemptsMax: 1, compensate: undo.run }));
    const waiting = desk.job().view({ answer: 'done' });
    (await desk.work.began(1)).failed(away());
    (await desk.undo.began(1)).done();
    expect(await waiting).toMatchObject({
      state: 'COMPENSATED',
      outcome: 'FAILED',
      error: { code: 'UNAVAILABLE' },
    });
  });

  it('and cannot be undone needs an operator, raises an alarm, and can be retried', async () => {
    const desk = await openDesk(({ undo }) => ({ compensate: undo.run }));
    const job = desk.job();
    await job.view();
    await desk.work.began(1);
    const cancelled = job.cancel();
    (await desk.undo.began(1)).failed(new TroupeError('NOT_FOUND', 'nothing to undo here'));
    expect(await job.waitsFor('decision')).toMatchObject({ state: 'RUNNING', compensating: true });
    const letters = await desk.world.letters(1);
    expect(letters).toMatchObject([{ reason: 'COMPENSATION_FAILED', to: job.address }]);
    expect(errorIn(await job.decide('failed'))).toMatchObject({ code: 'CONFLICT' });
    expect(viewIn(await job.decide('again'))).toMatchObject({ state: 'RUNNING' });
    (await desk.undo.began(2)).done();
    expect(viewIn(await cancelled)).toMatchObject({ state: 'COMPENSATED' });
  });

  it('and cannot be undone may be left as it is by an operator with a reason', async () => {
    const desk = await openDesk(({ undo }) => ({ compensate: undo.run }));
    const job = desk.job();
    await job.view();
    await desk.work.began(1);
    void job.cancel();
    (await desk.undo.began(1)).failed(new TroupeError('FORBIDDEN', 'no'));
    await job.waitsFor('decision');
    const view = viewIn(await job.decide('accept'));
    expect(view).toMatchObject({ state: 'CANCELLED', error: { details: { compensated: false } } });
    expect(view.error!.message).toContain('I looked');
  });
});
