import { expect, it } from 'vitest';
import { InOrder } from '../../../../channels/edge/identity/in-order.ts';

const pending = () => {
  let resolve!: (value: string) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<string>((done, failed) => ([resolve, reject] = [done, failed]));
  return { promise, resolve, reject };
};

const stage = () => {
  const order = new InOrder();
  const ended: string[] = [];
  const begin = (name: string, id: string) => {
    const work = pending();
    const done = order.after(name, work.promise).then(
      () => void ended.push(id),
      () => void ended.push(`${id} failed`),
    );
    return { ...work, done };
  };
  return { begin, ended };
};

// Bug it would catch: the second signature is verified first, its envelope passes the sequence
// first, and the first one is refused as stale.
it('work that ends first leaves after what began before it', async () => {
  const { begin, ended } = stage();
  const [first, second, third] = [begin('ada', '1'), begin('ada', '2'), begin('ada', '3')];
  third.resolve('');
  second.resolve('');
  await Promise.resolve();
  expect(ended).toEqual([]);
  first.resolve('');
  await Promise.all([first.done, second.done, third.done]);
  expect(ended).toEqual(['1', '2', '3']);
});

it('work of another name does not wait', async () => {
  const { begin, ended } = stage();
  const [ada, bob] = [begin('ada', 'ada'), begin('bob', 'bob')];
  bob.resolve('');
  await bob.done;
  expect(ended).toEqual(['bob']);
  ada.resolve('');
  await ada.done;
});

it('a failure leaves at once, and delays nothing after it', async () => {
  const { begin, ended } = stage();
  const [first, second, third] = [begin('ada', '1'), begin('ada', '2'), begin('ada', '3')];
  second.reject(new Error('no signature'));
  await second.done;
  expect(ended).toEqual(['2 failed']);
  third.resolve('');
  first.resolve('');
  await Promise.all([first.done, third.done]);
  expect(ended).toEqual(['2 failed', '1', '3']);
});
