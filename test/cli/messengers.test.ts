/** The built program with messengers: their SDKs against local servers of the services. */
import { randomBytes } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';
import { startDiscordServer } from '../servers/discord-server.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { openSlackServer } from '../servers/slack-server.ts';
import { startTelegramServer } from '../servers/telegram-server.ts';
import { openWhatsAppServer } from '../servers/whatsapp-server.ts';
import { runProgram, startProgram } from './program.ts';

const session = { dmScope: 'per-channel-peer' };
const open = { dmPolicy: 'open' };
/** Connections and previews take no slot, so one is enough for the agent. */
const a2a = { quota: { runningMax: 1 } };
/** The text of a reply, and not of a preview. */
const complete = expect.stringMatching(/[^…]$/);
const accounts = (settings: object) => ({ accounts: { main: { ...open, ...settings } } });

/** The flags of a program with this section of channels. */
async function configured(channels: object) {
  const home = scratchFolder();
  write(home, '.troupe/troupe.json5', JSON.stringify({ channels, session, a2a }));
  const port = await reservePort();
  const start = () => startProgram(['start', '--json', '--port', String(port)], { home });
  const run = async (...args: string[]) =>
    (await runProgram([...args, '--json', '--port', String(port)], { home })).stdout;
  const states = async () => {
    const { channels: rows } = JSON.parse(await run('channels')) as {
      channels: { state: string }[];
    };
    return rows.map(({ state }) => state);
  };
  return { port, start, states, run };
}

test('people write in Telegram and Discord, and the agent answers there, also after kill -9', async () => {
  const [telegram, discord] = [await startTelegramServer(), await startDiscordServer()];
  onTestFinished(async () => void (await Promise.all([telegram.close(), discord.close()])));
  const [one, two] = [telegram.addBot(), discord.addBot()];
  const { start } = await configured({
    telegram: accounts({ token: one.token, apiUrl: telegram.apiUrl }),
    discord: accounts({ token: two.token, apiUrl: discord.apiUrl }),
  });
  let program = start();
  await eventually(() => {
    const polls = one.requests.filter((method) => method === 'getUpdates').length;
    expect(polls).toBeGreaterThan(1);
    expect(two.gateway.opened).toEqual(['identify']);
  });
  one.receive({ text: 'hello from Telegram' });
  two.receive(two.dm, { content: 'hello from Discord' });
  // not while a preview is first sent, which may stay beside the reply
  await eventually(() => {
    expect(one.shown(42)).toMatchObject([{ text: complete }]);
    expect(two.shown(two.dm.id)).toMatchObject([{ content: complete }]);
  });
  program.child.kill('SIGKILL');
  await program.ended;
  one.receive({ text: 'while it was away' });
  two.receive(two.dm, { content: 'while it was away' });
  program = start();
  await eventually(() => {
    expect(one.shown(42)).toHaveLength(2);
    expect(two.shown(two.dm.id)).toHaveLength(2);
  });
  expect(two.gateway.opened).toEqual(['identify', 'resume']);
  program.child.kill('SIGTERM');
  expect(await program.ended).toMatchObject({ code: 0 });
}, 60_000);

test('people write in Slack and WhatsApp, and the agent answers there, among forged requests', async () => {
  const [slack, whatsapp] = [await openSlackServer(), await openWhatsAppServer()];
  onTestFinished(async () => void (await Promise.all([slack.close(), whatsapp.close()])));
  const [app, events, number] = [slack.addApp(), slack.addApp(), whatsapp.addNumber()];
  const { port, start, states, run } = await configured({
    slack: {
      accounts: {
        main: { ...open, botToken: app.botToken, appToken: app.appToken, apiUrl: slack.apiUrl },
        events: {
          ...open,
          botToken: events.botToken,
          signingSecret: events.signingSecret,
          apiUrl: slack.apiUrl,
        },
      },
    },
    whatsapp: accounts({
      accessToken: number.accessToken,
      phoneNumberId: number.phoneNumberId,
      appSecret: number.appSecret,
      verifyToken: 'a text of our choice',
      apiUrl: whatsapp.url,
    }),
  });
  const hook = (account: string) => `http://127.0.0.1:${port}/hooks/${account}`;
  events.requestUrl = hook('slack/events');
  number.hookUrl = hook('whatsapp/main');
  const program = start();
  await eventually(async () =>
    expect(await states()).toEqual(['connected', 'connected', 'connected']),
  );

  const refused = new Set<number>();
  const send = async (
    body: Uint8Array<ArrayBuffer> | string,
    headers: Record<string, string> = {},
  ) => {
    for (const account of ['slack/events', 'whatsapp/main', 'slack/none', 'none/main']) {
      // the server may end the connection while a large body is on its way
      const response = await fetch(hook(account), { method: 'POST', body, headers }).catch(
        () => {},
      );
      if (response || body.length < 1024 * 1024) refused.add(response?.status ?? 0);
    }
  };
  const body = JSON.stringify(
    number.bodyOf({ messages: [{ from: '84901', text: { body: 'x' } }] }),
  );
  await send(body, { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` });
  await send(body.replace('84901', '84902'), number.signed(body));
  await send(new Uint8Array(5 * 1024 * 1024));
  for (let n = 0; n < 100; n++) await send(new Uint8Array(randomBytes(n * 7)));
  expect([...refused].filter((status) => status < 400 || status >= 500)).toEqual([]);

  app.write('D1', 'hello from Slack');
  events.write('D1', 'hello by the Events API');
  number.write('84901', 'hello from WhatsApp');
  await eventually(() => {
    expect(app.shown('D1')).toHaveLength(1);
    expect(events.shown('D1')).toHaveLength(1);
    expect(number.sent).toMatchObject([{ to: '84901' }]);
  });

  // the answer to a send is lost; the status of the message proves that it was sent
  number.hasStatuses = true;
  whatsapp.faults.push({ path: '/messages', kind: 'cut', accepted: true });
  number.write('84901', 'a second one');
  await eventually(() => expect(number.sent).toHaveLength(2));
  number.write('84901', 'a third one');
  await eventually(() => expect(number.sent).toHaveLength(3));
  expect(JSON.parse(await run('dlq', 'list'))).toMatchObject({ dead_letters: [] });
  number.status(number.sent[2]!, 'failed', [{ code: 131047, title: 'Re-engagement message' }]);
  await eventually(async () => expect(await run('channels')).toContain('24 hours'));
  program.child.kill('SIGTERM');
  expect(await program.ended).toMatchObject({ code: 0 });
  expect(number.sent).toHaveLength(3);
}, 90_000);
