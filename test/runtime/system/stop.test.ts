/** A graceful stop while effects run: a failure that only the stop causes is no outcome. */
import { expect, it } from 'vitest';
import { TroupeError } from '../../../protocols/errors.ts';
import { eventually } from '../eventually.ts';
import { Stage } from './stage.ts';
import { openWorld, puppet } from './world.ts';

const a = puppet('a');
const b = puppet('b');

it('an effect that waits for an answer, or sends, while the process stops runs again', async () => {
  const stage = new Stage();
  const world = await openWorld({ services: stage });
  await world.tell(a, { type: 'work', cls: 'keyed', n: 1, input: { n: 1 } });
  const first = await stage.began(1);
  const { system } = world;
  const asked = world.ask(b, { type: 'do', n: 1, answer: 'never' }).then(async (answer) => {
    const sent = await system.tell(b, { type: 'do', n: 2 }, { principal: { sub: 'a', roles: [] } });
    first.failed(new TroupeError('UNAVAILABLE', `${answer.kind}, then ${sent.kind}`));
  });
  await eventually(() => expect(world.seen(b)).toEqual(['do:1']));
  await world.stop();
  await asked;
  await world.start();
  const second = await stage.began(2);
  expect(second.context.id).toBe(first.context.id);
  second.done('sent');
  await eventually(() =>
    expect(world.known(a).received).toMatchObject([{ type: 'done', output: 'sent' }]),
  );
});
