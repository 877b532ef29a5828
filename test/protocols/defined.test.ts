import { expect, it } from 'vitest';
import { defined } from '../../protocols/defined.ts';

it('defined omits undefined fields, keeps every other value, and keeps the order of the keys', () => {
  const fields = { z: 1, a: undefined, n: null, f: false, e: '', o: 0 };
  expect(JSON.stringify(defined(fields))).toBe('{"z":1,"n":null,"f":false,"e":"","o":0}');
  expect(Object.hasOwn(defined(fields), 'a')).toBe(false);
});

it('defined makes a key optional only when its value can be undefined', () => {
  const label = ['a'][1];
  const made: { readonly id: string; readonly label?: string } = defined({ id: 'x', label });
  expect(made).toStrictEqual({ id: 'x' });
  // @ts-expect-error label may be missing
  const needed: { readonly label: string } = defined({ label });
  expect(needed).toStrictEqual({});
});
