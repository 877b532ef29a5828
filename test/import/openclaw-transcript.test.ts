/** How the events of OpenClaw become transcript entries, and its configuration a proposal. */
import { expect, it } from 'vitest';
import { proposalOf } from '../../installation/openclaw/config-proposal.ts';
import type { Fields } from '../../installation/openclaw/found.ts';
import { transcriptOf } from '../../installation/openclaw/transcript.ts';
import { entrySchemaOf } from '../../operations/sessions/transcript-entry.ts';
import { checker } from '../../protocols/check.ts';

const message = (
  id: string,
  parentId: string | null,
  role: string,
  content: unknown,
  more = {},
) => ({
  type: 'message',
  id,
  parentId,
  timestamp: '2026-06-01T10:00:00.000Z',
  message: { role, content, ...more },
});
const text = (words: string) => [{ type: 'text', text: words }];

const read = (events: readonly Fields[]) => {
  const session = {
    agentId: 'main',
    key: 'agent:main:main',
    sessionId: 's1',
    entry: {},
    isNewest: true,
    place: 'test',
  };
  const transcript = transcriptOf({ ...session, read: () => ({ events, hash: 'h' }) });
  for (const entry of transcript.entries)
    expect(checker(entrySchemaOf(entry.type)!)(entry)).toMatchObject({ ok: true });
  return transcript;
};
const kinds = ({ entries }: ReturnType<typeof read>) => entries.map(({ type }) => type).join(' ');

it('reads the active path and counts what is on other branches', () => {
  const transcript = read([
    { type: 'session', id: 's1', version: 3 },
    message('a', null, 'user', 'one'),
    message('b', 'a', 'assistant', text('first answer')),
    message('c', 'a', 'assistant', text('second answer')),
  ]);
  expect(transcript.entries).toMatchObject([
    { type: 'user', text: 'one' },
    { type: 'assistant', text: 'second answer' },
    { type: 'run.end' },
  ]);
  expect(transcript.counts.branches).toBe(1);
  expect(transcript.facts).toMatchObject({ title: 'one', lastMessage: 'second answer' });
});

it('a leaf event moves the end of the conversation', () => {
  const transcript = read([
    message('a', null, 'user', 'one'),
    message('b', 'a', 'assistant', text('answer')),
    message('c', 'b', 'user', 'taken back'),
    { type: 'leaf', id: 'l', parentId: 'c', targetId: 'b' },
  ]);
  expect(transcript.facts.lastMessage).toBe('answer');
  expect(transcript.counts.branches).toBe(1);
});

it('every tool call has a result, and an orphan result is left out', () => {
  const call = (id: string) => ({ type: 'toolCall', id, name: 'read', arguments: { path: 'x' } });
  const transcript = read([
    message('a', null, 'user', 'read'),
    message('b', 'a', 'assistant', [call('1'), call('2')]),
    message('c', 'b', 'toolResult', text('content'), { toolCallId: '1' }),
    message('d', 'c', 'toolResult', text('orphan'), { toolCallId: '9' }),
    message('e', 'd', 'user', 'next'),
  ]);
  expect(kinds(transcript)).toBe('user assistant tool tool run.end user run.end');
  expect(transcript.entries).toMatchObject([
    {},
    {},
    { callId: '1', result: 'content', isError: false },
    { callId: '2', isError: true },
    {},
    {},
    {},
  ]);
});

it('a compaction keeps the entry that OpenClaw kept, and a reset hides what was before', () => {
  const transcript = read([
    message('a', null, 'user', 'one'),
    message('b', 'a', 'user', 'two'),
    {
      type: 'compaction',
      id: 'c',
      parentId: 'b',
      summary: 'S',
      firstKeptEntryId: 'b',
      tokensBefore: 9,
    },
    { type: 'reset', id: 'd', parentId: 'c', reason: 'reset' },
    message('e', 'd', 'user', 'three'),
  ]);
  expect(kinds(transcript)).toBe('user run.end user run.end compaction reset user run.end');
  expect(transcript.entries[4]).toMatchObject({ summary: 'S', keptFrom: 2 });
  expect(transcript.entries[5]).toMatchObject({ sessionId: 's1', reason: 'reset' });
});

it.each([
  ['agents.defaults.memorySearch', { agents: { defaults: { memorySearch: 'here' } } }],
  ['memory.search', { memory: { search: 'here' } }],
])('reads the memory settings below %s', (_, shape) => {
  const search = { provider: 'openai', model: 'e', query: { maxResults: 8, minScore: 0.3 } };
  const source = JSON.parse(JSON.stringify(shape).replace('"here"', JSON.stringify(search)));
  const { config, leftOut } = proposalOf(source);
  expect(config).toMatchObject({ memory: { search: { model: 'openai/e', maxResults: 8 } } });
  expect(leftOut).toMatchObject([{ reason: 'scores have another scale here' }]);
});

it('a proposal contains references to secrets, and bots that are not enabled', () => {
  const { config } = proposalOf({
    models: { providers: { openai: { apiKey: 'sk-value' }, own: { apiKey: '${MY_KEY}' } } },
    channels: { telegram: { botToken: '1:value', allowFrom: [42, '*'] } },
  });
  expect(JSON.stringify(config)).not.toContain('value');
  expect(config).toMatchObject({
    models: {
      providers: {
        openai: { apiKey: { env: 'OPENAI_API_KEY' } },
        own: { apiKey: { env: 'MY_KEY' } },
      },
    },
    channels: {
      telegram: {
        accounts: {
          default: {
            enabled: false,
            token: { env: 'CHANNELS_TELEGRAM_BOT_TOKEN' },
            allowFrom: ['42'],
          },
        },
      },
    },
  });
});
