/** Sensitive work in a real system: its result is sealed, and its errors are codes. */
import { Type } from '@sinclair/typebox';
import { describe, expect, it } from 'vitest';
import { defineAction, inputRequired, withLinks } from '../../../actors/task/action.ts';
import { newSealingKey } from '../../../protocols/security/sealed.ts';
import { openResult } from '../../../protocols/security/sealed-result.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { type TaskEvent, taskTopic } from '../../../protocols/task.ts';
import { eventually } from '../../runtime/eventually.ts';
import { type Desk, openDesk } from './task-service.ts';

const SECRET = 'the-secret-itself';
const sensitive = (more: object = {}): Promise<Desk> =>
  openDesk(() => ({ sensitive: true, ...more }));
const everything = (desk: Desk): string =>
  JSON.stringify([desk.world.system.index.list('tasks', 't'), desk.given]);

describe('the result of sensitive work', () => {
  it('is stored sealed with its links, never published, and opened by the installation only', async () => {
    const desk = await sensitive();
    const published: TaskEvent[] = [];
    desk.world.system.bus.subscribe(taskTopic('*', '*'), ({ payload }) => {
      published.push(payload as TaskEvent);
    });
    const job = desk.job();
    await job.view();
    const link = { uri: `https://files.example/${SECRET}`, name: SECRET };
    (await desk.work.began(1)).done(withLinks({ text: SECRET }, [link]));
    const view = await job.is({ state: 'SUCCEEDED' });
    expect(view.result).toEqual({ jwe: expect.any(String) });
    expect(everything(desk)).not.toContain(SECRET);
    await eventually(() => expect(published.at(-1)?.task.state).toBe('SUCCEEDED'));
    expect(published.at(-1)?.task).not.toHaveProperty('result');
    expect(JSON.stringify(published)).not.toContain(SECRET);
    expect(await openResult(view, [desk.sealingKey])).toMatchObject({
      result: { text: SECRET },
      resource_links: [link],
    });
    await expect(openResult(view, [await newSealingKey()])).rejects.toMatchObject({
      code: 'FORBIDDEN',
    });
    const elsewhere = { ...view, action: 'demo.do_other' };
    await expect(openResult(elsewhere, [desk.sealingKey])).rejects.toMatchObject({
      code: 'FORBIDDEN',
    });
  });

  it('that is not what its action declares, or too large, is not shown either', async () => {
    const desk = await sensitive({
      result: Type.Object({ n: Type.Number() }, { additionalProperties: false }),
    });
    const job = desk.job();
    await job.view();
    (await desk.work.began(1)).done({ [SECRET]: SECRET });
    expect(await job.is({ state: 'FAILED' })).toMatchObject({ error: { code: 'INTERNAL' } });
    expect(everything(desk)).not.toContain(SECRET);
    const large = await sensitive();
    const wide = large.job();
    await wide.view();
    (await large.work.began(1)).done('x'.repeat(300_000));
    expect(await wide.is({ state: 'FAILED' })).toMatchObject({
      error: { code: 'PAYLOAD_TOO_LARGE' },
    });
  });

  it('cannot be evidence, which is public, and its work cannot request input', async () => {
    expect(() =>
      defineAction({
        action: 'demo.do_thing',
        version: '1.0.0',
        description: '',
        agent: 'demo',
        schemas: { '1.0': Type.Object({}) },
        perform: () => Promise.resolve(null),
        sensitive: true,
        evidence: true,
      }),
    ).toThrow(/evidence is shown/);
    const desk = await sensitive();
    const job = desk.job();
    await job.view();
    (await desk.work.began(1)).done(inputRequired({ for: 'input', prompt: SECRET }));
    await job.is({ state: 'FAILED' });
    expect(everything(desk)).not.toContain(SECRET);
  });
});

describe('an error of sensitive work', () => {
  it.each([
    ['a TroupeError', new TroupeError('FORBIDDEN', SECRET, { details: { SECRET } }), 'FORBIDDEN'],
    ['any other error', new Error(SECRET), 'INTERNAL'],
  ])('is shown as a code and a fixed text: %s', async (_, error, code) => {
    const desk = await sensitive({ attemptsMax: 1 });
    const job = desk.job();
    await job.view();
    (await desk.work.began(1)).failed(error);
    const view = await job.is({ state: 'FAILED' });
    expect(view.error).toEqual({ code, message: expect.stringMatching(/payload is sensitive/) });
    expect(everything(desk)).not.toContain(SECRET);
  });

  it('is not shown to the operator who decides about it', async () => {
    const desk = await sensitive({ class: 'once' });
    const job = desk.job();
    await job.view();
    (await desk.work.began(1)).failed(new Error(SECRET));
    const view = await job.is({ state: 'UNKNOWN' });
    expect(view.waiting?.prompt).toMatch(/payload is sensitive/);
    expect(everything(desk)).not.toContain(SECRET);
  });

  it('is not shown when the compensation throws it', async () => {
    const desk = await openDesk(({ undo }) => ({
      sensitive: true,
      compensate: (payload, context) => undo.run(payload, context),
    }));
    const job = desk.job();
    await job.view();
    await desk.work.began(1);
    void job.cancel();
    (await desk.undo.began(1)).failed(new TroupeError('FORBIDDEN', SECRET));
    const view = await job.waitsFor('decision');
    expect(view.waiting?.prompt).toMatch(/payload is sensitive/);
    expect(everything(desk)).not.toContain(SECRET);
  });
});
