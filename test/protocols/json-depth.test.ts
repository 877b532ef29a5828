import { expect, test } from 'vitest';
import { isTooDeep, JSON_DEPTH_MAX } from '../../protocols/json-depth.ts';

const nested = (depth: number) => `${'[{"a":'.repeat(depth / 2)}1${'}]'.repeat(depth / 2)}`;

test('JSON is too deep from one level above the bound, regardless of the rest', () => {
  expect(isTooDeep(nested(JSON_DEPTH_MAX))).toBe(false);
  expect(isTooDeep(`[${nested(JSON_DEPTH_MAX)}]`)).toBe(true);
  expect(isTooDeep('['.repeat(1_000_000))).toBe(true);
});

test('sibling brackets, and brackets within texts, do not count as depth', () => {
  expect(isTooDeep(`[${'[],'.repeat(10_000)}1]`)).toBe(false);
  expect(isTooDeep(JSON.stringify(['['.repeat(10_000), '\\"['.repeat(10_000)]))).toBe(false);
});
