/**
 * What a chat shows of a run: previews, messages before the end, the reply. The built program,
 * which all tests share: each has an account, an agent and a model of its own. Tests wait more than
 * they work, so all but the one that kills the program run at the same time.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { REPORTS_TITLE } from '../../protocols/subagent.ts';
import { write } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';
import { startOpenAiServer } from '../servers/openai-server.ts';
import type { Plan, ScriptedServer } from '../servers/scripted-server.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { startTelegramServer, type TelegramBot } from '../servers/telegram-server.ts';
import { runProgram, spawnProgram } from './program.ts';

/** The accounts, each of one test, and how it shows a reply that is being written. */
const STREAMING = {
  previewed: 'edit',
  typing: 'edit',
  reports: 'edit',
  hooked: 'edit',
  commands: 'off',
  received: 'off',
  sent: 'off',
} as const;
type Account = keyof typeof STREAMING;
const ACCOUNTS = Object.keys(STREAMING) as Account[];

const seen = `
import { appendFileSync } from 'node:fs';
const keep = (hook) => (event, { runId }) => {
  appendFileSync(new URL('seen.jsonl', import.meta.url), JSON.stringify({ hook, runId, ...event }) + '\\n');
};
export default {
  name: 'seen',
  hooks: { message_sending: keep('message_sending'), message_sent: keep('message_sent') },
};`;

const HOOKS = '.troupe/tenants/watched/hooks';
const home = mkdtempSync(join(tmpdir(), 'troupe-replies-'));
const port = ['--json', '--port', String(await reservePort())];
const telegram = await startTelegramServer();
const accounts = new Map<Account, { bot: TelegramBot; model: ScriptedServer }>();
for (const name of ACCOUNTS)
  accounts.set(name, { bot: telegram.addBot(), model: await startOpenAiServer() });
const of = (name: Account) => accounts.get(name)!;

const byAccount = <T>(entry: (name: Account) => T) =>
  Object.fromEntries(ACCOUNTS.map((name) => [name, entry(name)]));
const config = {
  channels: {
    telegram: {
      accounts: byAccount((name) => ({
        dmPolicy: 'open',
        streaming: STREAMING[name],
        token: of(name).bot.token,
        apiUrl: telegram.apiUrl,
      })),
    },
  },
  models: {
    providers: byAccount((name) => ({
      api: 'openai-completions',
      baseUrl: of(name).model.baseUrl,
      apiKey: 'key',
      models: [{ id: 'scripted' }],
    })),
  },
  agents: {
    agents: ACCOUNTS.map((id) => ({ id, model: `${id}/scripted` })),
    routing: { telegram: { accounts: byAccount((agent) => ({ agent })) } },
    spawnDefaults: { sandbox: { mode: 'none' } },
  },
  // the hooks are those of this tenant only: with message_sending there are no previews
  tenants: { watched: { hooks: {}, channelAccounts: ['telegram:hooked'] } },
};

const start = () => spawnProgram(['start', ...port], { home });
let program: ReturnType<typeof start>;
const restart = async () => {
  program.child.kill('SIGKILL');
  await program.ended;
  program = start();
};
const run = async (...args: string[]) => (await runProgram([...args, ...port], { home })).stdout;

beforeAll(async () => {
  write(home, '.troupe/troupe.json5', JSON.stringify(config));
  write(home, `${HOOKS}/seen.mjs`, seen);
  program = start();
  await eventually(() => {
    for (const { bot } of accounts.values())
      if (bot.requests.filter((method) => method === 'getUpdates').length < 2)
        throw new Error(`an account does not poll: ${program.stderr}`);
  }, 40_000);
}, 60_000);
afterAll(async () => {
  program.child.kill('SIGKILL');
  await program.ended;
  await Promise.all([
    telegram.close(),
    ...[...accounts.values()].map(({ model }) => model.close()),
  ]);
  rmSync(home, { recursive: true, force: true });
});

describe.concurrent('while the program runs,', () => {
  test('a message of a tool is in the chat at once, in place of the preview; the reply follows it', async () => {
    const { bot, model } = of('previewed');
    let release = () => {};
    const until = new Promise<void>((resolve) => (release = resolve));
    const beginning = 'I read the report that you sent this morning. '.repeat(4);
    const reply = 'The last chapter says that the price of the machine has doubled. '
      .repeat(4)
      .trim();
    const call = { id: 'c1', name: 'message', args: { text: 'It has twelve pages.' } };
    model.script(
      { kind: 'answer', deltas: beginning.split(/(?<= )/), delayMs: 100, calls: [call] },
      { kind: 'answer', deltas: reply.split(/(?<= )/), delayMs: 100, until },
    );
    const texts = () => bot.shown(42).map(({ text }) => text);
    bot.receive({ text: 'what does it say?' });
    await eventually(() => expect(texts()).toEqual(['It has twelve pages.']));
    expect(bot.requests).toContain('sendChatAction');
    release();
    await eventually(() => expect(texts()).toEqual(['It has twelve pages.', reply]));
    // both began as a preview
    for (const { edits } of bot.shown(42)) expect(edits).toBeGreaterThan(0);
    expect(bot.requests.filter((method) => method === 'sendMessage')).toHaveLength(2);
  }, 60_000);

  test('the account types also after the preview, while the model is silent', async () => {
    const { bot, model } = of('typing');
    model.script({
      kind: 'stall',
      deltas: ['I read the report that you sent this morning. '.repeat(4)],
    });
    bot.receive({ text: 'what does it say?' });
    await eventually(() => {
      const { requests } = bot;
      expect(requests).toContain('sendMessage');
      expect(requests.lastIndexOf('sendChatAction')).toBeGreaterThan(
        requests.indexOf('sendMessage'),
      );
    });
  }, 60_000);

  test('what a subagent reports later reaches the chat that the session came from', async () => {
    const { bot, model } = of('reports');
    const called = (name: string, args: object): Plan => ({
      kind: 'answer',
      calls: [{ id: `call-${name}`, name, args }],
    });
    const said = (text: string): Plan => ({ kind: 'answer', deltas: [text] });
    model.otherwise(({ body }) => {
      const messages = body['messages'] as { role: string; content: unknown }[];
      const last = messages.at(-1)!;
      const asked = JSON.stringify(messages.findLast(({ role }) => role === 'user'));
      if (asked.includes(REPORTS_TITLE))
        return last.role === 'tool'
          ? said('Seven rows.')
          : called('message', { text: 'It is done:' });
      if (asked.includes('count the rows')) return said('There are seven.');
      return last.role === 'tool'
        ? said('I will tell you.')
        : called('sessions_spawn', { task: 'count the rows' });
    });
    bot.receive({ text: 'how many are there?' });
    await eventually(() =>
      expect(bot.shown(42).map(({ text }) => text)).toEqual([
        'I will tell you.',
        'It is done:',
        'Seven rows.',
      ]),
    );
  }, 60_000);

  test('the hook message_sending sees a reply before the chat, message_sent once whether it was sent', async () => {
    const { bot, model } = of('hooked');
    model.otherwise({
      kind: 'answer',
      deltas: Array.from({ length: 20 }, () => 'Hello. '.repeat(40)),
      delayMs: 100,
    });
    const seenOf = (hook: string) =>
      readFileSync(join(home, HOOKS, 'seen.jsonl'), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, string>)
        .filter((one) => one['hook'] === hook && one['account'] === 'hooked');
    const outcomes = () => seenOf('message_sent').map(({ outcome }) => outcome);

    bot.receive({ text: 'one' });
    await eventually(() => expect(outcomes()).toEqual(['sent']));
    expect(bot.shown(42)).toMatchObject([{ edits: 0 }, { edits: 0 }]);
    bot.fail('sendMessage', { kind: 'refuse', status: 403, description: 'Forbidden: blocked' });
    bot.receive({ text: 'two' });
    await eventually(() => expect(outcomes()).toEqual(['sent', 'not_sent']));
    bot.fail('sendMessage', { kind: 'cut', when: 'after' });
    bot.receive({ text: 'three' });
    await eventually(() => expect(outcomes()).toEqual(['sent', 'not_sent', 'unknown']), 40_000);

    const where = { channel: 'telegram', account: 'hooked' };
    const [first, second] = seenOf('message_sent');
    expect(first).toMatchObject({ ...where, text: 'Hello. '.repeat(800).trim() });
    expect(second?.['error']).toContain('blocked');
    expect(seenOf('message_sending')).toMatchObject([where, where, where]);
    const runIds = (hook: string) => seenOf(hook).map(({ runId }) => runId);
    expect(runIds('message_sent')).toEqual(runIds('message_sending'));
  }, 90_000);

  test('commands are answered in the chat: /status, /stop, /new, also with the name of the bot', async () => {
    const { bot, model } = of('commands');
    const texts = (chat = 42) => bot.shown(chat).map(({ text }) => text);
    const says = (text: string, reply: string | RegExp) => {
      bot.receive({ text });
      return eventually(() => expect(texts().at(-1)).toMatch(reply));
    };
    expect(JSON.stringify(bot.commands)).toContain('{"command":"stop",');
    model.otherwise({ kind: 'answer', deltas: ['hello'] });
    await says('good morning', /^hello$/);
    await says('/status', /model commands\/scripted/);
    await says('/modle commands/scripted', /Did you mean \/model/);
    await says('/model nowhere/other', /Nothing was changed/);
    await says('/new', /^Started a new conversation/);
    await says('/etc/hosts is a file', /^hello$/);
    expect(model.requests).toHaveLength(2);
    expect(JSON.stringify(model.requests[1]!.body)).not.toContain('good morning');

    model.otherwise({ kind: 'stall', deltas: ['so '] });
    bot.receive({ text: 'think about it' });
    await eventually(() => expect(model.requests).toHaveLength(3));
    await says(`/stop@${bot.username}`, /Stopped\.$/);
    model.otherwise({ kind: 'answer', deltas: ['hello again'] });
    await says('and now?', /^hello again$/);
  }, 60_000);

  test('an image reaches the model, another file the workspace, and one that is too large is named', async () => {
    const { bot, model } = of('received');
    const pixel = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    );
    bot.addFile('p', pixel);
    bot.addFile('d', Buffer.from('a,b\n1,2\n'));
    bot.addFile('v', Buffer.from('OggS voice'));
    const about = (id: string, bytes: number) => ({
      file_id: id,
      file_unique_id: id,
      file_size: bytes,
    });
    const asked = async (message: object) => {
      const before = model.requests.length;
      bot.receive(message);
      await eventually(() => expect(model.requests).toHaveLength(before + 1));
      await eventually(() => expect(bot.shown(42)).toHaveLength(before + 1));
      return JSON.stringify(model.requests.at(-1)!.body);
    };
    const photo = [{ ...about('p', pixel.length), width: 1, height: 1 }];
    expect(await asked({ photo, caption: 'what is it?' })).toContain(pixel.toString('base64'));
    const table = { ...about('d', 8), file_name: '../../rows.csv', mime_type: 'text/csv' };
    const read = await asked({ document: table, caption: 'add them' });
    const [, path = ''] = /received the (?:file|document) ([^,]+),/.exec(read) ?? [];
    expect(path).toMatch(/^received\/[^/]*rows\.csv$/);
    // again when a folder of another test ends while it is read
    const stored = await eventually(() =>
      readdirSync(home, { recursive: true, encoding: 'utf8' })
        .filter((one) => one.endsWith(path))
        .map((one) => readFileSync(join(home, one), 'utf8')),
    );
    expect(stored).toEqual(['a,b\n1,2\n']);
    const voice = { ...about('v', 10), duration: 1, mime_type: 'audio/ogg' };
    expect(await asked({ voice })).toMatch(/received the (voice|audio)/);
    const film = { ...about('x', 90_000_000), file_name: 'film.mp4', mime_type: 'video/mp4' };
    expect(await asked({ document: film })).toMatch(/film\.mp4 was not received: .*limit/);
  }, 60_000);
});

test('files that the agent sends follow its text, whole and once, also after kill -9 and a refusal', async () => {
  const { bot, model } = of('sent');
  const table = Array.from({ length: 5_000 }, (_, n) => `${n},${n * n}`).join('\n');
  const called = (name: string, args: object): Plan => ({
    kind: 'answer',
    calls: [{ id: `call-${name}`, name, args }],
  });
  const done: Plan = { kind: 'answer', deltas: ['Anything else?'] };
  const shown = () => bot.shown(42).map(({ text, file }) => file?.contents.toString() ?? text);
  model.script(
    called('write', { path: 'out/squares.csv', content: table }),
    called('message', { text: 'The squares:', files: ['out/squares.csv'] }),
    done,
  );
  bot.receive({ text: 'squares, please' });
  await eventually(() => expect(shown()).toEqual(['The squares:', table, 'Anything else?']));
  expect(bot.shown(42)[1]?.file?.name).toBe('squares.csv');

  // killed while the chat waits, as the service asked for
  const attempts = () => bot.requests.filter((method) => method === 'sendDocument').length;
  bot.fail('sendDocument', { kind: 'rateLimit', retryAfter: 6 });
  model.script(called('message', { text: 'Again:', files: ['out/squares.csv'] }), done);
  bot.receive({ text: 'once more' });
  await eventually(() => expect(attempts()).toBe(2));
  const chat = () => run('actors', 'show', 'default/chat/telegram:sent:42');
  await eventually(async () => expect(await chat()).toMatch(/"outbound":\s*"waiting"/));
  await restart();
  await eventually(() => expect(shown().slice(3)).toEqual(['Again:', table, 'Anything else?']));

  // refused, then sent again by an operator
  bot.fail('sendDocument', { kind: 'refuse', status: 403, description: 'Forbidden: blocked' });
  model.script(called('message', { text: 'Third:', files: ['out/squares.csv'] }), done);
  bot.receive({ text: 'and again' });
  await eventually(() => expect(shown().slice(6)).toEqual(['Third:', 'Anything else?']));
  const { dead_letters: letters } = JSON.parse(await run('dlq', 'list')) as {
    dead_letters: { domain: string; position: number; to: string }[];
  };
  const mine = letters.filter(({ to }) => to.includes(':sent:'));
  expect(mine).toMatchObject([{ domain: 'channels' }]);
  await run('dlq', 'redrive', `channels/${mine[0]!.position}`, '--why', 'unblocked');
  await eventually(() => expect(shown().slice(6)).toEqual(['Third:', 'Anything else?', table]));
}, 90_000);
