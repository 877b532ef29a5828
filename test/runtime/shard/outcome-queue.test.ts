import { expect, it } from 'vitest';
import { OutcomeQueue } from '../../../runtime/shard/input/outcome-queue.ts';

const reportOf = (intent: string) => ({
  intent,
  attempt: 1,
  outcome: { kind: 'done', output: null } as const,
});

it('an outcome waits for the messages that were stored before it', () => {
  const queue = new OutcomeQueue();
  void queue.add(reportOf('a'), 7);
  expect(queue.take(6)).toBeUndefined();
  expect(queue.take(7)?.report.intent).toBe('a');
  expect(queue.take(7)).toBeUndefined();
});

// An owner that ends may have written the outcome or not: only a report again is safe.
it('an outcome whose record is not known to count is rejected when the owner ends', async () => {
  const queue = new OutcomeQueue();
  const counted = queue.add(reportOf('counted'), 0);
  const built = queue.add(reportOf('built'), 0);
  const waiting = queue.add(reportOf('waiting'), 0);
  queue.take(0)!.onCounts();
  const { onCounts } = queue.take(0)!;
  queue.close();
  onCounts();
  await counted;
  await expect(built).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await expect(waiting).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await expect(queue.add(reportOf('late'), 0)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});
