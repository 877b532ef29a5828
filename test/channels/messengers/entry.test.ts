/** Messages of an account on their way into the mailboxes of chats. */
import { expect, test } from 'vitest';
import { Entry } from '../../../channels/messengers/entry.ts';
import type { AccountSettings } from '../../../channels/messengers/account-settings.ts';
import type { ChannelPair, ChatInbound, InboundMessage } from '../../../protocols/channel.ts';
import { TroupeError } from '../../../protocols/errors.ts';

/** `chat:text` of each message that was stored, in order, and an entry that stores there. */
function storingEntry(isLost: (text: string) => boolean) {
  const stored: string[] = [];
  const tell = async (_to: unknown, { message }: ChatInbound) => {
    const isRefused = isLost(message.text);
    // A lost publish is noticed after later ones were stored.
    await new Promise((resolve) => setTimeout(resolve, isRefused ? 20 : 5));
    if (isRefused) throw new TroupeError('UNAVAILABLE', 'not known to be stored');
    stored.push(`${message.chat.id}:${message.text}`);
    return { kind: 'accepted' };
  };
  const entry = new Entry({ tenant: 'default', channel: 'test', account: 'a' } as AccountSettings, {
    system: { tell, index: { get: () => undefined } } as never,
    observed: { inbound: () => {}, refused: () => {}, error: () => {} } as never,
    admit: () => ({ pass: true }) as never,
    route: () => ({}) as never,
    needsPreparation: () => false,
    isObserved: false,
    onDropped: () => {},
  });
  return { entry, stored };
}

const message = (chat: string, text: string) =>
  ({ key: text, chat: { kind: 'dm', id: chat }, sender: { id: 's' }, text }) as InboundMessage;
const batch = [message('1', 'a'), message('1', 'b'), message('2', 'c'), message('1', 'd')];

test('bug: a message that could not be stored was overtaken by later ones of its chat', async () => {
  let isAway = true;
  const { entry, stored } = storingEntry((text) => isAway && text === 'b');
  await expect(entry.accept(batch)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(stored.toSorted()).toEqual(['1:a', '2:c']);
  isAway = false;
  // The service delivers the batch again; what is stored already is ignored by its key.
  await entry.accept(batch);
  expect(stored.filter((one, at) => one.startsWith('1:') && stored.indexOf(one) === at)).toEqual([
    '1:a',
    '1:b',
    '1:d',
  ]);
});

test('chats do not wait for each other', async () => {
  const { entry, stored } = storingEntry(() => false);
  await entry.accept([message('1', 'a'), message('1', 'b'), message('2', 'c')]);
  expect(stored).toEqual(['1:a', '2:c', '1:b']);
});

test('bug: a stranger whose message was delivered again became a dead letter', async () => {
  const sent: { key?: string; code: string }[] = [];
  const dropped: string[] = [];
  const tell = async (_to: unknown, { code }: ChannelPair, { key }: { key?: string }) => {
    sent.push({ code, ...(key !== undefined && { key }) });
    return { kind: 'accepted' };
  };
  const entry = new Entry({ tenant: 'default', channel: 'test', account: 'a' } as AccountSettings, {
    system: { tell, index: { get: () => undefined } } as never,
    observed: { refused: () => {}, error: () => {} } as never,
    admit: () => ({ pass: false, rule: 'dm.pairing' }) as never,
    route: () => ({}) as never,
    needsPreparation: () => false,
    isObserved: false,
    onDropped: (_, why) => dropped.push(why),
  });
  await entry.accept([message('1', 'a')]);
  await entry.accept([message('1', 'a')]);
  // Two messages with one key and two codes would contradict each other.
  expect(sent.map((one) => 'key' in one)).toEqual([false, false]);
  await entry.accept([message('b\u0000', 'a')]);
  expect(sent).toHaveLength(2);
  expect(dropped).toEqual([expect.stringContaining('control character')]);
});
