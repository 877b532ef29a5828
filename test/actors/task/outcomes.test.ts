/**
 * Tasks in a real system: work that asks for input, is lost, returns much, or is done by an actor
 * or external agent.
 */
import { Type } from '@sinclair/typebox';
import { describe, expect, it } from 'vitest';
import { inputRequired, withLinks } from '../../../actors/task/action.ts';
import { INPUTS_MAX } from '../../../actors/task/work.ts';
import { address } from '../../../protocols/address.ts';
import { EVIDENCE_INDEX } from '../../../protocols/task.ts';
import { eventually } from '../../runtime/eventually.ts';
import { errorIn, openDesk, viewIn } from './task-service.ts';

describe('work that asks its caller for input', () => {
  it('waits, and is run again with the answer', async () => {
    const desk = await openDesk();
    const job = desk.job();
    await job.view();
    expect(errorIn(await job.ask({ type: 'task.input', input: 1 })).code).toBe('CONFLICT');
    (await desk.work.began(1)).done(
      inputRequired({ for: 'input', prompt: 'which one?', schema: { type: 'string' } }),
    );
    const view = await job.waitsFor('input');
    expect(view.waiting).toMatchObject({ prompt: 'which one?', schema: { type: 'string' } });
    await desk.world.restart();
    expect(viewIn(await job.ask({ type: 'task.input', input: 'the red one' }))).toMatchObject({
      state: 'RUNNING',
    });
    const again = await desk.work.began(2);
    expect(again.context).toMatchObject({ inputs: ['the red one'], attempt: 2 });
    again.done('red');
    expect(await job.is({ state: 'SUCCEEDED' })).toMatchObject({ result: 'red' });
  });
});

describe('work that may be done once', () => {
  it('is UNKNOWN when its outcome was lost, until an operator decides that it was done', async () => {
    const desk = await openDesk(() => ({ class: 'once' }));
    const job = desk.job();
    await job.view();
    await desk.work.began(1);
    await desk.world.restart();
    expect(await job.is({ state: 'UNKNOWN' })).toMatchObject({ waiting: { for: 'decision' } });
    expect(errorIn(await job.cancel()).details).toMatchObject({ state: 'UNKNOWN' });
    await job.decide('done', { found: true });
    expect((await job.is({ state: 'SUCCEEDED' })).result).toEqual({ found: true });
    expect(desk.work.all).toHaveLength(1);
  });

  it('runs again when an operator requests it, and is FAILED when an operator says so', async () => {
    const desk = await openDesk(() => ({ class: 'once' }));
    const job = desk.job();
    await job.view();
    await desk.work.began(1);
    await desk.world.restart();
    await job.is({ state: 'UNKNOWN' });
    expect(viewIn(await job.decide('again'))).toMatchObject({ state: 'RUNNING', attempt: 2 });
    (await desk.work.began(2)).failed(new Error('who knows'));
    await job.is({ state: 'UNKNOWN' });
    expect(viewIn(await job.decide('failed'))).toMatchObject({ state: 'FAILED' });
    expect(desk.work.all).toHaveLength(2);
  });

  it('is resolved by its reconcile hook if the hook knows the outcome', async () => {
    const desk = await openDesk(() => ({
      class: 'once',
      reconcile: async () => ({ result: 'it was done' }),
    }));
    const job = desk.job();
    await job.view();
    await desk.work.began(1);
    await desk.world.restart();
    expect(await job.is({ state: 'SUCCEEDED' })).toMatchObject({ result: 'it was done' });
  });
});

describe('a result', () => {
  it('that is too large for a view is kept as a file', async () => {
    const desk = await openDesk();
    const waiting = desk.job().view({ answer: 'done' });
    (await desk.work.began(1)).done('x'.repeat(300_000));
    expect((await waiting).result).toMatchObject({ content_type: 'application/json' });
  });

  it('whose links are none, or are large, makes the task FAILED, without another attempt', async () => {
    for (const links of ['abc', [null], [{ uri: 5 }], [{ uri: 'u'.repeat(5_000) }]]) {
      const desk = await openDesk();
      const waiting = desk.job().view({ answer: 'done' });
      (await desk.work.began(1)).done(withLinks('red', links as []));
      expect(await waiting).toMatchObject({ state: 'FAILED', error: { code: 'INTERNAL' } });
      expect(desk.work.all).toHaveLength(1);
    }
  });

  it('that is evidence is kept for its job, with the task that it is of', async () => {
    const desk = await openDesk(() => ({ evidence: true }));
    const job = desk.job();
    const waiting = job.view({ answer: 'done' });
    const evidence = {
      job_id: 'job-1',
      verified: true,
      artifact_uri: 'http://127.0.0.1/a',
      artifact_hash: 'ab',
      content_type: 'text/plain',
      evidence_ts: '2026-01-01T00:00:00Z',
      source_kind: 'document',
    };
    (await desk.work.began(1)).done(evidence);
    expect(await waiting).toMatchObject({ state: 'SUCCEEDED' });
    const { index } = desk.world.system;
    expect(index.get(EVIDENCE_INDEX, 't', `job-1|${job.id}`)).toEqual({
      ...evidence,
      task: { principal: 'ada', action: 'demo.do_thing', action_version: '1.0.0' },
    });
  });

  it('that is not the evidence it should be makes the task FAILED, without another attempt', async () => {
    const desk = await openDesk(() => ({ evidence: true }));
    const waiting = desk.job().view({ answer: 'done' });
    (await desk.work.began(1)).done({ job_id: 'job-1' });
    expect(await waiting).toMatchObject({ state: 'FAILED', error: { code: 'INTERNAL' } });
    expect(desk.work.all).toHaveLength(1);
  });
});

describe('work that an actor does', () => {
  const clerk = address('t', 'clerk', 'c');

  it('is done when the actor answers', async () => {
    const desk = await openDesk(() => ({ actor: () => clerk }));
    const waiting = desk.job().view({ answer: 'done' });
    await eventually(() => {
      expect(desk.world.system.inspect(clerk)?.value).toBe('busy');
    });
    await desk.world.tell(clerk, { type: 'finish' });
    expect(await waiting).toMatchObject({ state: 'SUCCEEDED', result: { wrote: 'hello' } });
  });

  it('is requested in the name of the sender of the envelope, also by a redrive', async () => {
    const desk = await openDesk(() => ({ actor: () => clerk, etaSec: 1 }));
    const job = desk.job();
    const { system } = desk.world;
    const isBusy = () =>
      eventually(() => {
        expect(system.inspect(clerk)?.value).toBe('busy');
      });
    expect(await job.view({ answer: 'done' })).toMatchObject({ state: 'FAILED' });
    await desk.world.tell(clerk, { type: 'finish' });
    const [letter] = await desk.world.letters(1);
    const audit = { who: 'otto', why: 'the clerk is back' };
    await system.deadLetters.redrive(letter!.position, audit, 'demo');
    await isBusy();
    await desk.world.tell(clerk, { type: 'finish' });
    const again = await job.is({ state: 'SUCCEEDED' }, `${job.id}.r1`);
    expect(again.result).toEqual({ wrote: 'hello', by: 'ada' });
  });

  it('is undone by the actor when it is cancelled, where it can', async () => {
    const desk = await openDesk(() => ({ actor: () => clerk, withdraws: true }));
    const job = desk.job();
    await job.view();
    await eventually(() => {
      expect(desk.world.system.inspect(clerk)?.value).toBe('busy');
    });
    expect(viewIn(await job.cancel())).toMatchObject({
      state: 'COMPENSATED',
      outcome: 'CANCELLED',
    });
  });
});

describe('work that an agent outside does', () => {
  const remote = { performer: { kind: 'remote' } } as const;

  it('goes to a live agent before a degraded one, under the key of the task', async () => {
    const desk = await openDesk();
    await desk.register({ missed: 'degraded', alive: 'live', gone: 'gone' });
    const job = desk.job();
    const view = await job.view({ answer: 'done', terms: { ...job.terms(), ...remote } });
    expect(view).toMatchObject({ state: 'SUCCEEDED', result: 'alive did it' });
    expect(desk.outside).toMatchObject([
      { agent: 'alive', envelope: { idempotency_key: job.id, action: 'demo.do_thing' } },
    ]);
  });

  it('goes to a degraded agent when no other serves the action', async () => {
    const desk = await openDesk();
    await desk.register({ missed: 'degraded', gone: 'gone' });
    const job = desk.job();
    const view = await job.view({ answer: 'done', terms: { ...job.terms(), ...remote } });
    expect(view.result).toBe('missed did it');
  });

  it('is undone by the same agent when it is cancelled', async () => {
    const desk = await openDesk();
    await desk.register({ silent: 'live' });
    const job = desk.job();
    await job.view({ terms: { ...job.terms(), ...remote, compensable: true } });
    await eventually(() => expect(desk.outside).toHaveLength(1));
    expect(viewIn(await job.cancel())).toMatchObject({ state: 'COMPENSATED' });
    expect(desk.outside[1]).toMatchObject({
      agent: 'silent',
      envelope: { action: 'demo.do_thing.cancel', payload: { idempotency_key: job.id } },
    });
  });

  it('is undone by the same agent at its former address, after it left the registry', async () => {
    const desk = await openDesk();
    await desk.register({ silent: 'degraded' });
    const context_id = '018f3c1e-7a52-7c3d-9f00-1b2c3d4e5f62';
    const job = desk.job({ context_id, payload: { schema_version: '1.0' } });
    await job.view({ terms: { ...job.terms(), ...remote, compensable: true } });
    await eventually(() => expect(desk.outside).toHaveLength(1));
    await desk.leave('silent');
    await desk.register({ another: 'live' });
    expect(viewIn(await job.cancel())).toMatchObject({ state: 'COMPENSATED' });
    // The external agent finds a task by the scope of its key, which is not only in the payload.
    expect(desk.outside.slice(1)).toMatchObject([
      {
        agent: 'silent',
        url: 'http://127.0.0.1/silent',
        envelope: { payload: { subject: context_id } },
      },
    ]);
  });

  it('needs an operator when the agent cannot be asked to undo it', async () => {
    const desk = await openDesk();
    await desk.register({ deaf: 'live' });
    const job = desk.job();
    await job.view({ terms: { ...job.terms(), ...remote, compensable: true } });
    await eventually(() => expect(desk.outside).toHaveLength(1));
    await desk.leave('deaf');
    void job.cancel();
    await eventually(async () =>
      expect(await job.view()).toMatchObject({
        state: 'RUNNING',
        compensating: true,
        waiting: { for: 'decision', prompt: expect.stringMatching(/does not listen/) },
      }),
    );
  });

  it('fails for now when no agent serves the action, and is retried', async () => {
    const desk = await openDesk(() => ({ attemptsMax: 2 }));
    await desk.register({ gone: 'gone' });
    const job = desk.job();
    const terms = { ...job.terms(), ...remote, compensable: true };
    const view = await job.view({ answer: 'done', terms });
    expect(view).toMatchObject({ state: 'FAILED', attempt: 2, error: { code: 'UNAVAILABLE' } });
  });
});

describe('work that did something, but not what it declares,', () => {
  it('is undone with what it returned', async () => {
    const desk = await openDesk(({ undo }) => ({
      result: Type.Object({ n: Type.Number() }),
      compensate: (payload, context, result) => undo.run({ ...payload, result }, context),
    }));
    const waiting = desk.job().view({ answer: 'done' });
    (await desk.work.began(1)).done({ n: 'seven' });
    const undo = await desk.undo.began(1);
    expect(undo.payload).toMatchObject({ result: { n: 'seven' } });
    undo.done();
    const view = await waiting;
    expect(view).toMatchObject({ state: 'COMPENSATED', outcome: 'FAILED' });
    expect(view.error!.message).toContain('/n must be number');
    expect(desk.work.all).toHaveLength(1);
  });
});

it('work that asks its caller for input without end fails', async () => {
  const desk = await openDesk(() => ({
    perform: async () => inputRequired({ for: 'input', prompt: 'and now?' }),
  }));
  const job = desk.job();
  const waiting = job.view({ answer: 'done' });
  for (let n = 0; n < INPUTS_MAX; n++) {
    await job.waitsFor('input');
    expect(viewIn(await job.ask({ type: 'task.input', input: n })).state).toBe('RUNNING');
    await eventually(() => expect(job.row()!.view.attempt).toBe(n + 2));
  }
  expect((await waiting).error!.message).toContain(`more than ${INPUTS_MAX} times`);
});
