/** `chat.history`: messages, counted and paged as such. */
import { afterEach, describe, expect, test } from 'vitest';
import type { SessionEntry } from '../../../../protocols/session.ts';
import { MAIN } from '../client.ts';
import { closeAll, openAll } from '../opened.ts';

afterEach(closeAll);

const at = 1_760_000_000_000;
const report = { sources: [], tokens: 1, tools: [], skills: [] };
const entries: SessionEntry[] = [
  { type: 'user', runId: 'a', text: 'one', at, images: [{ mimeType: 'image/png', data: 'AAAA' }] },
  { type: 'prompt', runId: 'a', digest: 'd', system: 'You are', report, at },
  { type: 'assistant', runId: 'a', text: 'first', model: 'm', stop: 'stop', at },
  { type: 'run.end', runId: 'a', status: 'ok', at },
  {
    type: 'compaction',
    runId: 'b',
    summary: 's',
    keptFrom: 2,
    tokensBefore: 9,
    tokensAfter: 1,
    at,
  },
  { type: 'user', runId: 'b', text: 'two', at },
  { type: 'user', runId: 'b', of: 'c', text: 'faster', sender: 'An', at },
  { type: 'run.end', runId: 'b', status: 'error', error: { code: 'INTERNAL', message: 'no' }, at },
  { type: 'reset', runId: '', sessionId: 'next', at },
  { type: 'user', runId: 'd', text: 'three', at },
];

type Shown = { role: string; content: { text?: string }[]; stopReason?: string };
const short = ({ role, content, stopReason }: Shown) =>
  `${role} ${content[0]?.text ?? stopReason ?? ''}`.trim();

const SHOWN = [
  'user one',
  'assistant first',
  'system Compaction',
  'user two',
  'user faster',
  'assistant error',
  'system New conversation',
  'user three',
];

describe('history', () => {
  test('contains messages and markers, and neither prompts nor successful ends', async () => {
    const { client, system } = await openAll();
    for (const entry of entries) system.commit(MAIN, entry);
    const { payload } = await client.call('chat.history', { sessionKey: MAIN });
    expect(payload.messages.map(short)).toEqual(SHOWN);
    expect(payload).toMatchObject({ totalMessages: SHOWN.length, hasMore: false });
    expect(payload.messages[0].content[1]).toEqual({
      type: 'image',
      mimeType: 'image/png',
      bytes: 3,
      omitted: true,
    });
    expect(payload.messages[4]).toMatchObject({ runId: 'c', joined: 'b', senderLabel: 'An' });
    expect(payload.messages[2].__openclaw).toEqual({ kind: 'compaction', id: '5' });
  });

  test.each([1, 2, 3, 7, 8, 9])('in pages of %d contains every message once', async (limit) => {
    const { client, system } = await openAll();
    for (const entry of entries) system.commit(MAIN, entry);
    const pages: string[][] = [];
    for (let offset = 0; ; offset += limit) {
      const { payload } = await client.call('chat.history', { sessionKey: MAIN, limit, offset });
      expect(payload.totalMessages).toBe(SHOWN.length);
      pages.unshift(payload.messages.map(short));
      if (!payload.hasMore) break;
    }
    expect(pages.flat()).toEqual(SHOWN);
  });

  test('counts only new entries, and reads long transcripts in parts', async () => {
    const { client, system } = await openAll();
    const say = (text: string) => system.commit(MAIN, { type: 'user', runId: text, text, at });
    for (let each = 0; each < 1_000; each++) {
      say(`${each}`);
      if (each % 3 === 0) system.commit(MAIN, entries[1]!);
    }
    const ask = async (params: object) =>
      (await client.call('chat.history', { sessionKey: MAIN, ...params })).payload;
    const all = await ask({ limit: 1_000 });
    expect(all.messages.map(short)).toEqual(Array.from({ length: 1_000 }, (_, n) => `user ${n}`));
    expect(all.totalMessages).toBe(1_000);
    say('more');
    const last = await ask({ limit: 2 });
    expect(last.messages.map(short)).toEqual(['user 999', 'user more']);
    expect(last).toMatchObject({ totalMessages: 1_001, hasMore: true });
    expect((await ask({ limit: 5, offset: 2_000 })).messages).toEqual([]);
  });
});
