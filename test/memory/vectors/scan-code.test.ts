/** Bug: every process compiled the code that compares vectors, also one that never had any. */
import { afterEach, expect, it, vi } from 'vitest';

afterEach(() => {
  vi.restoreAllMocks();
  vi.resetModules();
});

it('is compiled once, for the first vectors of a process', async () => {
  const compiled = vi.spyOn(WebAssembly, 'Module');
  vi.resetModules();
  const { VectorRows } = await import('../../../memory/vectors/vector-rows.ts');
  expect(compiled).not.toHaveBeenCalled();
  const [first, second] = [new VectorRows(3), new VectorRows(5)];
  expect([first.size, second.size]).toEqual([0, 0]);
  expect(compiled).toHaveBeenCalledTimes(1);
});
