/**
 * Bug that it would catch: a caller receives an answer to a request that was sent before its call.
 */
import { expect, it } from 'vitest';
import { SharedAnswers } from '../../../runtime/log/shared-answers.ts';

/** Requests that the test answers, in order. */
function stage() {
  const asked: { resolve: (answer: number) => void; reject: (error: Error) => void }[] = [];
  const answers = new SharedAnswers(
    () => new Promise<number>((resolve, reject) => asked.push({ resolve, reject })),
  );
  return { asked, answers };
}

it('sends one request for all callers during a pending request, and only after that one', async () => {
  const { asked, answers } = stage();
  const first = answers.get('a');
  const [second, third] = [answers.get('a'), answers.get('a')];
  expect(asked).toHaveLength(1);
  asked[0]!.resolve(1);
  expect(await first).toBe(1);
  await Promise.resolve();
  expect(asked).toHaveLength(2);
  asked[1]!.resolve(2);
  expect(await Promise.all([second, third])).toEqual([2, 2]);
});

it('sends requests about other things at once, and repeats a failed one', async () => {
  const { asked, answers } = stage();
  const [failing, after, other] = [answers.get('a'), answers.get('a'), answers.get('b')];
  expect(asked).toHaveLength(2);
  asked[0]!.reject(new Error('no answer'));
  await expect(failing).rejects.toThrow('no answer');
  asked[1]!.resolve(1);
  expect(await other).toBe(1);
  asked[2]!.resolve(2);
  expect(await after).toBe(2);
});
