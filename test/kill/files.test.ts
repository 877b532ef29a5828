/**
 * Files that agents send to a chat, and notes that they search, while random workers are killed
 * with kill -9. `TROUPE_KILL_SEED` repeats a run, `TROUPE_KILLS` sets the number of kills.
 */
import { afterAll, expect, test } from 'vitest';
import { eventually } from '../runtime/eventually.ts';
import { openEmbeddingServer } from '../servers/embedding-server.ts';
import { startOpenAiServer } from '../servers/openai-server.ts';
import type { Plan } from '../servers/scripted-server.ts';
import { startTelegramServer } from '../servers/telegram-server.ts';
import { connectTo } from './conversations.ts';
import { randomOf } from '../random.ts';
import { describeWithNats, TestCluster, WORKERS } from './test-cluster.ts';

const SEED = Number(process.env['TROUPE_KILL_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const KILLS = Number(process.env['TROUPE_KILLS'] ?? 3);
const MESSAGES = 6;
const PEOPLE = [1_001, 1_002, 1_003];

const random = randomOf(SEED);
const [telegram, model] = [await startTelegramServer(), await startOpenAiServer()];
const vectors = await openEmbeddingServer();
const bot = telegram.addBot();
afterAll(async () => void (await Promise.all([telegram.close(), model.close(), vectors.close()])));

const own = {
  api: 'openai-completions',
  baseUrl: model.baseUrl,
  apiKey: 'key',
  models: [{ id: 'scripted' }],
};
const cluster = new TestCluster(
  JSON.stringify({
    cluster: { shards: 8 },
    models: { providers: { own, local: { api: own.api, baseUrl: vectors.openAiUrl } } },
    memory: { search: { model: 'local/concepts' } },
    agents: { defaults: { model: 'own/scripted', sandbox: { mode: 'none' } } },
    messages: { queue: { mode: 'followup', cap: 100, overflow: 'refuse' } },
    session: { dmScope: 'per-channel-peer' },
    channels: {
      telegram: {
        accounts: {
          main: { dmPolicy: 'open', streaming: 'off', token: bot.token, apiUrl: telegram.apiUrl },
        },
      },
    },
  }),
);

/** `Make 7`: writes a file and a note, sends the file, then finds the note. */
function answer({ body }: { readonly body: Record<string, unknown> }): Plan {
  const messages = body['messages'] as { role: string; content: unknown }[];
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const [, number = ''] = /Make (\d+)/.exec(JSON.stringify(messages[asked]!.content)) ?? [];
  const results = messages.slice(asked + 1).filter(({ role }) => role === 'tool');
  const call = (name: string, args: object): Plan => ({
    kind: 'answer',
    calls: [{ id: `${name}-${number}-${results.length}`, name, args }],
  });
  const path = `out/${number}.txt`;
  const note = `memory/${number}.md`;
  if (results.length === 0) return call('write', { path, content: `Content ${number}` });
  if (results.length === 1) return call('write', { path: note, content: `Item no${number}x.` });
  if (results.length === 2) return call('message', { text: `File ${number}`, files: [path] });
  if (results.length === 3) return call('memory_search', { query: `no${number}x` });
  const result = JSON.stringify(results.at(-1)!.content);
  const found = result.includes(`${note}#L1`) && /mode[\\":]+hybrid/.test(result);
  return { kind: 'answer', deltas: [found ? `Found ${number}` : `Lost ${number}`] };
}

const shown = () =>
  PEOPLE.flatMap((person) =>
    bot.shown(person).map(({ text, file }) => file?.contents.toString() ?? text),
  );

describeWithNats(`with ${WORKERS.length} workers`, () => {
  test(`each file is sent once or reported, and each note is found (seed ${SEED})`, {
    timeout: 180_000 + KILLS * 20_000,
  }, async () => {
    model.otherwise(answer);
    await cluster.start();
    await eventually(() =>
      expect(bot.requests.filter((one) => one === 'getUpdates').length).toBeGreaterThan(1),
    );
    let number = 100;
    for (let kill = 0; kill < KILLS; kill++) {
      for (let n = 0; n < MESSAGES; n++) {
        const id = PEOPLE[n % PEOPLE.length]!;
        const from = { id, is_bot: false, first_name: `Person ${id}` };
        bot.receive({ text: `Make ${number++}`, from, chat: { id, type: 'private' } });
      }
      await new Promise((resolve) => setTimeout(resolve, 500 + random() * 2_500));
      const name = WORKERS[Math.floor(random() * WORKERS.length)]!;
      await cluster.kill(name);
      await new Promise((resolve) => setTimeout(resolve, random() * 1_000));
      await cluster.startWorker(name);
    }
    const client = await connectTo(cluster.url);
    const numbers = Array.from({ length: number - 100 }, (_, n) => 100 + n);
    const wanted = numbers.flatMap((one) => [`File ${one}`, `Content ${one}`, `Found ${one}`]);
    const missing = () => wanted.filter((text) => !shown().includes(text));
    const letters = async () => {
      const params = { domain: 'channels' };
      const result = await client.request('operations.run', { name: 'dead-letters.list', params });
      return (result as { dead_letters: { reason: string }[] }).dead_letters;
    };
    await eventually(async () => {
      expect({ missing: missing(), reported: await letters() }).toSatisfy(
        (now: { missing: string[]; reported: object[] }) =>
          now.missing.length <= now.reported.length,
      );
    }, 120_000);
    expect((await letters()).every(({ reason }) => reason === 'UNKNOWN')).toBe(true);
    expect(shown().toSorted()).toEqual([...new Set(shown())].toSorted());
    expect(shown().filter((text) => !wanted.includes(text))).toEqual([]);
    client.close();
    // Only what was embedded in the moment of a kill is embedded again.
    const notes = vectors.texts.flat().filter((text) => text.startsWith('Item'));
    expect(new Set(notes).size).toBe(numbers.length);
    expect(notes.length).toBeLessThanOrEqual(numbers.length + KILLS * PEOPLE.length);
  });
});
