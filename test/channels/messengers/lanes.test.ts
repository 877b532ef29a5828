/** The pace of requests, in virtual time. */
import { setImmediate as settled } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Lanes } from '../../../channels/messengers/lanes.ts';
import { VirtualClock } from '../../../library/simulation/virtual-clock.ts';

/** Returns `chat at ms` for each request, in the order in which they ran. */
async function ran(
  pace: { readonly ofChatMs: number; readonly ofAccountMs: number },
  ...chats: readonly string[]
): Promise<readonly string[]> {
  const clock = new VirtualClock();
  const lanes = new Lanes(clock, pace);
  const seen: string[] = [];
  for (const chat of chats)
    void lanes.run(chat, async () => void seen.push(`${chat} ${clock.monotonicMs()}`));
  await settled();
  await clock.run(60_000);
  return seen;
}

test('requests of one chat run in order, at the pace of a chat', async () => {
  const pace = { ofChatMs: 1_000, ofAccountMs: 0 };
  expect(await ran(pace, 'a', 'a', 'a')).toEqual(['a 0', 'a 1000', 'a 2000']);
});

test('requests of an account run at its pace', async () => {
  const pace = { ofChatMs: 0, ofAccountMs: 100 };
  expect(await ran(pace, 'a', 'b', 'c', 'a')).toEqual(['a 0', 'b 100', 'c 200', 'a 300']);
});

test('a chat that waits for its own pace does not delay others', async () => {
  const clock = new VirtualClock();
  const lanes = new Lanes(clock, { ofChatMs: 1_000, ofAccountMs: 10 });
  const seen: string[] = [];
  const run = (chat: string) =>
    void lanes.run(chat, async () => void seen.push(`${chat} ${clock.monotonicMs()}`));
  run('a');
  run('a');
  clock.after(500, () => run('b'));
  await settled();
  await clock.run(60_000);
  expect(seen).toEqual(['a 0', 'b 500', 'a 1000']);
});

test('a request that fails holds back none after it', async () => {
  const clock = new VirtualClock();
  const lanes = new Lanes(clock, { ofChatMs: 10, ofAccountMs: 0 });
  const failed = lanes.run('a', () => Promise.reject(new Error('refused')));
  const next = lanes.run('a', async () => clock.monotonicMs());
  await expect(failed).rejects.toThrow('refused');
  await settled();
  await clock.run(1_000);
  expect(await next).toBe(10);
});
