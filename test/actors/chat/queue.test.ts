/** The queue of replies: its bounds, and replies that several messages share. */
import { describe, expect, it } from 'vitest';
import { initialContext, onRunEnded, receive } from '../../../actors/chat/inbound.ts';
import { enqueue, giveUp, hasRoom } from '../../../actors/chat/outbound.ts';
import type { ActionArgs, ActionResult } from '../../../actors/chat/action-result.ts';
import type { ChatContext, ChatEvent } from '../../../actors/chat/types.ts';
import { chatAddress, type ChatDeliver, type ChatRef } from '../../../protocols/channel.ts';

const ACCOUNT = { channel: 'telegram', account: 'main' };
const CHAT: ChatRef = { kind: 'dm', id: 'bob' };
const RUN = 'telegram:main:';

const empty = (): ChatContext =>
  initialContext({
    self: chatAddress('default', ACCOUNT, CHAT),
    tenant: 'default',
    key: 'telegram:main:bob',
  } as Parameters<typeof initialContext>[0]);

/** The context after the events, and the deliveries of the dead letters. */
function after(context: ChatContext, ...steps: [(at: ActionArgs) => ActionResult, object][]) {
  const letters: ChatDeliver[] = [];
  let now = context;
  for (const [handler, event] of steps) {
    const { change, send = [] } = handler({ context: now, event: event as ChatEvent });
    now = { ...now, ...change };
    for (const one of send)
      if (one.type === 'deadLetter') letters.push(one.params.event as unknown as ChatDeliver);
  }
  return { context: now, letters };
}
const arrives = (key: string): [typeof receive, object] => [
  receive,
  {
    type: 'chat.inbound',
    message: { key, kind: 'message', messageId: key, chat: CHAT, sender: { id: 'bob' }, text: 'x' },
    route: { agentId: 'main', sessionKey: 'agent:main:main', rule: 'default' },
  },
];
const ends = (key: string, text: string, joined?: string): [typeof onRunEnded, object] => [
  onRunEnded,
  { type: 'run.ended', runId: key, text, ...(joined === undefined ? {} : { joined }) },
];
const charactersOf = ({ queue }: ChatContext) =>
  queue.reduce((sum, { text }) => sum + text.length, 0);

describe('replies of runs', () => {
  it('wait up to 1 Mi characters; the next ones become dead letters that can be redriven', () => {
    const keys = Array.from({ length: 12 }, (_, index) => `${index}`);
    const long = (key: string) => key.padEnd(256 * 1024, '.');
    const { context, letters } = after(
      empty(),
      ...keys.map(arrives),
      ...keys.map((key) => ends(`${RUN}${key}`, long(key))),
    );
    expect(charactersOf(context)).toBe(1_048_576);
    const texts = [...context.queue, ...letters].map(({ text }) => text);
    expect(texts).toEqual(keys.map(long));
    const drained = { ...context, queue: [] };
    const again = after(drained, [enqueue, { ...letters[0]!, type: 'chat.deliver' }]);
    expect(again.context.queue.map(({ text }) => text)).toEqual([letters[0]!.text]);
  });

  it('keep their files in the queue and in a dead letter, from the piece on that failed', () => {
    const files = [{ name: 'a.txt', contentType: 'text/plain', bytes: 1, hash: 'ab' }];
    const sent = { type: 'chat.deliver', id: 'm', chat: CHAT, text: 'one', files };
    const refused = { output: { status: 'not_sent', error: { code: 'FORBIDDEN' }, isFinal: true } };
    const { context } = after(empty(), [enqueue, sent]);
    expect(context.queue).toMatchObject([{ text: 'one', files, piece: 0 }]);
    const second = { ...context, queue: [{ ...context.queue[0]!, piece: 1 }] };
    const { letters } = after(second, [giveUp, refused]);
    expect(letters).toMatchObject([{ text: 'one', files, fromPiece: 1 }]);
    expect(after(empty(), [enqueue, letters[0]!]).context.queue).toMatchObject([
      { text: 'one', files, piece: 1 },
    ]);
  });

  it('are sent once when the messages joined a run of another chat', () => {
    const foreign = 'discord:main:1';
    const { context, letters } = after(
      empty(),
      arrives('1'),
      arrives('2'),
      ends(`${RUN}1`, 'both', foreign),
      ends(`${RUN}2`, 'both', foreign),
    );
    expect(context.queue.map(({ text }) => text)).toEqual(['both']);
    expect(letters).toEqual([]);
  });

  it('become one dead letter when messages joined the run, and nothing has room', () => {
    const full = Array.from({ length: 4 }, (_, index) =>
      ends(`other:${index}`, 'x'.repeat(256 * 1024)),
    );
    const { context, letters } = after(
      empty(),
      arrives('1'),
      arrives('2'),
      ...full,
      ends(`${RUN}1`, 'both'),
      ends(`${RUN}2`, 'both', `${RUN}1`),
    );
    expect(context.queue).toHaveLength(4);
    expect(letters.map(({ text }) => text)).toEqual(['both']);
  });

  it('are sent for a message that more than 100 later ones followed', () => {
    const keys = Array.from({ length: 150 }, (_, index) => `${index}`);
    const { context } = after(empty(), ...keys.map(arrives), ends(`${RUN}0`, 'first'));
    expect(context.open).toHaveLength(100);
    expect(context.queue.map(({ text }) => text)).toEqual(['first']);
  });
});

it('a repeat is no new delivery, also when the queue is full', () => {
  const deliver = (id: string) => ({ type: 'chat.deliver', id, chat: CHAT, text: 'x' });
  const ids = Array.from({ length: 100 }, (_, index) => `d${index}`);
  const { context } = after(
    empty(),
    ...ids.map((id): [typeof enqueue, object] => [enqueue, deliver(id)]),
  );
  const hasRoomFor = (id: string) =>
    hasRoom({ context, event: deliver(id) as unknown as ChatEvent });
  expect([hasRoomFor('d99'), hasRoomFor('new')]).toEqual([true, false]);
});

it('the dead letter of one repeated piece is about that piece only', () => {
  const one = { id: 'r:again:3', chat: CHAT, text: 'x', fromPiece: 3, isOnePiece: true };
  const error = { code: 'UNAVAILABLE', message: 'away' };
  const { letters } = after(
    empty(),
    [enqueue, { type: 'chat.deliver', ...one }],
    [giveUp, { type: 'done', output: { status: 'not_sent', error, isFinal: true } }],
  );
  expect(letters).toMatchObject([{ fromPiece: 3, isOnePiece: true }]);
});
