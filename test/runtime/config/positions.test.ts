import fc from 'fast-check';
import JSON5 from 'json5';
import { expect, it } from 'vitest';
import { leaves, showPointer, valueAt } from '../../../runtime/config/pointer.ts';
import { positionsOf } from '../../../runtime/config/positions.ts';
import { editDistance, nearest } from '../../../runtime/config/checks/suggest.ts';

it('finds keys despite comments, quotes, escapes, trailing commas and unusual line ends', () => {
  const text = [
    '\uFEFF// head { not: "a key" }',
    "{ /* block, */ 'single': 'it\\'s } ,',",
    '  "dou\\"ble": [1, -.5e3, +Infinity, { in: 0x1F, },],\r',
    '  uni\\u0063ode: "a\\',
    'b", last: null }',
  ].join('\n');
  const { at, repeated } = positionsOf(text);
  expect(repeated).toEqual([]);
  expect(Object.fromEntries(at)).toMatchObject({
    '': { line: 2, column: 1 },
    '/single': { line: 2, column: 16 },
    '/dou"ble': { line: 3, column: 3 },
    '/dou"ble/0': { line: 3, column: 16 },
    '/dou"ble/3/in': { line: 3, column: 39 },
    '/unicode': { line: 4, column: 3 },
    '/last': { line: 5, column: 5 },
  });
});

it('has a position for every value of any document, however it is laid out', () => {
  const document = fc.jsonValue({ maxDepth: 4 });
  fc.assert(
    fc.property(
      document,
      fc.constantFrom(undefined, 1, '\t'),
      fc.boolean(),
      (value, space, json) => {
        const text = json
          ? JSON.stringify(value, null, space)
          : JSON5.stringify(value, null, space);
        const parsed: unknown = JSON5.parse(text);
        const { at } = positionsOf(text);
        for (const [pointer, leaf] of leaves(parsed)) {
          expect(at.has(pointer)).toBe(true);
          expect(valueAt(parsed, pointer)).toBe(leaf);
        }
      },
    ),
  );
});

it('formats a path in JavaScript syntax', () => {
  expect(showPointer('/agents/agents/0/id')).toBe('agents.agents[0].id');
  expect(showPointer('/agents/routing/whatsapp/+1~1~0')).toBe('agents.routing.whatsapp["+1/~"]');
});

it('suggests a word for a typing error, but not for a different word', () => {
  expect(editDistance('gateway', 'gatwya')).toBe(2);
  expect(nearest('gatwya', ['agents', 'gateway'])).toBe('gateway');
  expect(nearest('api_key', ['apiKey', 'api'])).toBe('apiKey');
  expect(nearest('banana', ['agents', 'gateway'])).toBeUndefined();
});
