/**
 * Which mail belongs to a cut of a cluster: what was sent in it, and nothing that was sent later.
 */
import { expect, it } from 'vitest';
import { address } from '../../../protocols/address.ts';
import { type CutShard, settledMail } from '../../../runtime/backup/cluster/settled-mail.ts';
import {
  decodeMail,
  encodeMail,
  type MailEntry,
  type OutItem,
} from '../../../runtime/shard/commit/records.ts';
import type { MailFrame } from '../../../runtime/transfer/frames.ts';

const cell = 'cell';
const to = address('default', 'counter', 'visits');
const itemOf = (id: string): OutItem => ({ to, id, event: { type: 'counter.add' }, hops: 0 });
const linksOf = (n: number, ids: readonly string[]): MailEntry => ({
  kind: 'links',
  cell,
  src: 1,
  lane: 'data',
  n,
  items: ids.map(itemOf),
});
const outcome: MailEntry = {
  kind: 'outcome',
  cell,
  intent: 'i',
  attempt: 1,
  outcome: { kind: 'done', output: null },
};
const frame = (position: number, entry: MailEntry): MailFrame => [position, 0, encodeMail(entry)];

/** Shard 0 receives; shard 1 has sent it messages up to a number. */
function settled(
  mail: readonly MailFrame[],
  { sent = 0, mailEnd = 100, waiting = [] as number[] },
) {
  const shard = (n: number, linkOut: Record<string, number>, frames: readonly MailFrame[]) =>
    ({
      shard: n,
      scalars: { keyNow: 0, linkIn: {}, linkOut },
      mail: () => [frames],
    }) satisfies CutShard;
  const receiver = shard(0, {}, mail);
  const copies = [receiver, shard(1, { '0/data': sent + 1 }, [])];
  const items = waiting.map((n) => ({ n, item: itemOf(`w${n}`) }));
  const outboxes = { to: () => new Map(items.length > 0 ? [[1, items]] : []) };
  const options = { cell, copies, cut: { mailEnd }, outboxes };
  return [...settledMail(options, receiver, 'data')]
    .flat()
    .map(([position, , bytes]) => ({ position, entry: decodeMail(bytes) }));
}

const numbersOf = (found: ReturnType<typeof settled>) =>
  found.map(({ entry }) => (entry.kind === 'links' ? [entry.n, entry.items.length] : entry.kind));

it('keeps what was sent in the cut', () => {
  const found = settled([frame(5, linksOf(1, ['a', 'b']))], { sent: 2 });
  expect(numbersOf(found)).toEqual([[1, 2]]);
});

it('leaves out what was sent after it, also a part of an entry', () => {
  const mail = [frame(5, linksOf(1, ['a', 'b', 'c'])), frame(6, linksOf(4, ['d']))];
  expect(numbersOf(settled(mail, { sent: 2 }))).toEqual([[1, 2]]);
});

it('puts what is on its way behind the mail, without what is in it already', () => {
  const found = settled([frame(5, linksOf(1, ['a']))], { sent: 3, waiting: [1, 2, 3] });
  expect(numbersOf(found)).toEqual([
    [1, 1],
    [2, 2],
  ]);
  expect(found.at(-1)!.position).toBeGreaterThan(5);
});

it('leaves out outcomes of effects behind the end of the mail', () => {
  const found = settled([frame(5, outcome), frame(7, outcome)], { mailEnd: 6 });
  expect(found.map(({ position }) => position)).toEqual([5]);
});
