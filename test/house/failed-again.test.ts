/** What `npm test` counts when it runs failed files a second time. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { runFailedAgain } from '../../tools/failed-again.mjs';

const skip = (path: string) => ({ path, name: `of ${path}`, why: undefined });
const first = (more: object = {}) => ({
  passed: 10,
  failed: 1,
  failures: ['test/b.test.ts: a hook'],
  failedFiles: [{ path: 'test/b.test.ts', passed: 2 }],
  errors: 0,
  unfinished: 0,
  skipped: [skip('test/a.test.ts'), skip('test/b.test.ts')],
  ...more,
});
const second = { ...first(), passed: 4, failed: 0, failures: [], failedFiles: [], skipped: [] };

beforeEach(() => void vi.spyOn(console, 'log').mockImplementation(() => {}));
afterEach(() => vi.restoreAllMocks());

// Bug: the tests that a failed hook had skipped were listed as not run, though they had passed.
it('counts the tests of a file by its second run', () => {
  expect(runFailedAgain(first(), () => second)).toMatchObject({
    passed: 12,
    failed: 0,
    failures: [],
    failedOnce: ['test/b.test.ts: a hook'],
    skipped: [skip('test/a.test.ts')],
  });
});

it('keeps the failure of files that fail again', () => {
  const result = first();
  expect(runFailedAgain(result, () => ({ ...second, failed: 1 }))).toBe(result);
});

it.each([
  ['an error outside of a test', { errors: 1 }],
  ['tests that did not end', { unfinished: 1 }],
  ['no failed file', { failedFiles: [] }],
  [
    'many failed files',
    { failedFiles: [1, 2, 3, 4].map((n) => ({ path: `test/${n}.test.ts`, passed: 0 })) },
  ],
  ['random faults', { failedFiles: [{ path: 'test/kill/a.test.ts', passed: 0 }] }],
])('runs nothing again after %s', (_, more) => {
  const run = vi.fn<() => typeof second>();
  const result = first(more);
  expect(runFailedAgain(result, run)).toBe(result);
  expect(run).not.toHaveBeenCalled();
});
