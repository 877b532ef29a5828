import { expect, it } from 'vitest';
import { LazyValue } from '../../protocols/lazy-value.ts';

/** Fails as often as `failures` says; then it makes 1, 2, and so on. */
function counted(failures: number) {
  let [made, left] = [0, failures];
  return new LazyValue(async () => {
    if (left-- > 0) throw new Error('missing');
    return ++made;
  });
}

it('is made once, with the first of several uses at once', async () => {
  const value = counted(0);
  expect(value.made).toBeUndefined();
  expect(await Promise.all([value.get(), value.get()])).toEqual([1, 1]);
  expect(await value.made).toBe(1);
});

it('is made by the use after one that failed', async () => {
  const value = counted(1);
  await expect(value.get()).rejects.toThrow('missing');
  expect(value.made).toBeUndefined();
  expect(await value.get()).toBe(1);
});

it('keeps what was made after it was forgotten while it failed', async () => {
  const value = counted(1);
  const failing = value.get();
  value.forget();
  const made = value.get();
  await expect(failing).rejects.toThrow('missing');
  expect(value.made).toBe(made);
  expect(await value.get()).toBe(1);
});
