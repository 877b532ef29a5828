import { expect, test } from 'vitest';
import { messageOf, plainText } from '../../../../channels/messengers/slack/events.ts';

const callback = (event: object) => ({
  type: 'event_callback',
  team_id: 'T1',
  event: {
    type: 'message',
    channel: 'C1',
    channel_type: 'channel',
    user: 'U1',
    ts: '5.000100',
    ...event,
  },
  authorizations: [{ user_id: 'UBOT', is_bot: true }],
});

test('a message of a channel is a group message of its workspace', () => {
  expect(messageOf(callback({ text: 'hi' }))).toEqual({
    key: 'C1:5.000100',
    kind: 'message',
    messageId: '5.000100',
    chat: { kind: 'group', id: 'C1', guild: 'T1' },
    sender: { id: 'U1' },
    text: 'hi',
    mentionsAccount: false,
    sentAt: 5000,
  });
});

test('one post as message and as app_mention has one key, and mentions the account', () => {
  const text = '<@UBOT> hi';
  const { channel_type: _, ...mention } = callback({ type: 'app_mention', text }).event;
  const both = [callback({ text }), { ...callback({}), event: mention }].map(messageOf);
  expect(both[0]).toEqual(both[1]);
  expect(both[0]).toMatchObject({ text: 'hi', mentionsAccount: true });
});

test('a reply in a thread that the account began mentions it', () => {
  const reply = { thread_ts: '4.1', parent_user_id: 'UBOT', text: 'and?' };
  expect(messageOf(callback(reply))).toMatchObject({
    chat: { id: 'C1', thread: '4.1' },
    mentionsAccount: true,
  });
});

test('messages of several people are a group, those of one person are not', () => {
  const kindOf = (event: object) => messageOf(callback(event))?.chat.kind;
  expect(kindOf({ channel: 'G1', channel_type: 'mpim' })).toBe('group');
  expect(kindOf({ channel: 'D1', channel_type: 'im' })).toBe('dm');
});

const IGNORED = [
  ['of the account', { user: 'UBOT' }],
  ['of a bot', { bot_id: 'B7' }],
  ['that was edited', { subtype: 'message_changed', message: { text: 'x' } }],
  ['that was deleted', { subtype: 'message_deleted' }],
  ['that someone joined', { subtype: 'channel_join' }],
  ['without a person', { user: undefined }],
  ['without a channel', { channel: null }],
  ['of another type', { type: 'team_join' }],
] as const;
test.each(IGNORED)('an event %s is ignored', (_name, event) => {
  expect(messageOf(callback({ text: 'x', ...event }))).toBeUndefined();
});

test.each(['file_share', 'thread_broadcast', 'me_message'])('%s is a message', (subtype) => {
  expect(messageOf(callback({ text: 'x', subtype }))).toMatchObject({ text: 'x' });
});

test('files with bytes are media', () => {
  const files = [
    { id: 'F1', name: 'a.png', mimetype: 'image/png', size: 7, mode: 'hosted' },
    { id: 'F2', mode: 'tombstone' },
    { id: 'F3', name: null, mimetype: 'audio/mp4' },
  ];
  expect(messageOf(callback({ files, subtype: 'file_share' }))?.media).toEqual([
    { kind: 'image', id: 'F1', name: 'a.png', mimeType: 'image/png', bytes: 7 },
    { kind: 'audio', id: 'F3', mimeType: 'audio/mp4' },
  ]);
});

test('a reaction names its message and emoji', () => {
  const reaction = {
    type: 'reaction_added',
    reaction: 'thumbsup',
    item: { type: 'message', channel: 'D1', ts: '4.1' },
    item_user: 'UBOT',
    event_ts: '6.2',
  };
  expect(messageOf(callback({ ...reaction, ts: undefined }))).toMatchObject({
    kind: 'reaction',
    text: ':thumbsup:',
    replyTo: '4.1',
    chat: { kind: 'dm', id: 'D1' },
    mentionsAccount: true,
  });
});

test('markup becomes text that a model reads, and a command stays a command', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['<@UBOT> /new', '/new'],
    ['ask <@UBOT> or <@U2>', 'ask <@UBOT> or <@U2>'],
    ['<https://a.example/x|the page>', 'the page (https://a.example/x)'],
    ['<https://a.example>', 'https://a.example'],
    ['<http://a.example|a.example>', 'http://a.example'],
    ['<mailto:p@a.example|p@a.example>', 'mailto:p@a.example'],
    ['<#C2|general> <!here> <!subteam^S1|@team>', '#general @here @team'],
    ['1 &lt; 2 &amp;&amp; 3 &gt; 2', '1 < 2 && 3 > 2'],
    ['&amp;lt;', '&lt;'],
  ];
  for (const [markup, text] of cases) expect(plainText(markup, 'UBOT')).toBe(text);
});
