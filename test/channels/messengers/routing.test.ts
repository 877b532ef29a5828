/**
 * A whole troupe with accounts of the channel `webhook`: who may write, and which agent and session
 * a message goes to. Programs post signed messages over HTTP.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startTroupe } from '../../../main.ts';
import { CHANNELS_INDEX, type ChannelRow } from '../../../protocols/channel.ts';
import type { SessionRow } from '../../../protocols/session.ts';
import { loadConfig } from '../../../runtime/config/index.ts';
import { scratchFolder, write } from '../../runtime/config/folder.ts';
import { TOKEN } from '../gateway/client.ts';
import { eventually } from '../../runtime/eventually.ts';
import { signatureOf } from '../../servers/webhook-server.ts';

const SECRET = `whsec_${Buffer.from('a key of 24 bytes or more').toString('base64')}`;
const TEXT = `{
  agents: {
    list: [{ id: 'main' }, { id: 'work' }, { id: 'ops' }],
    routing: { webhook: {
      accounts: { alarms: { agent: 'ops' } },
      groups: { room: { agent: 'work', requireMention: false } },
      boss: { agent: 'work' },
    } },
  },
  session: { dmScope: 'per-channel-peer', identityLinks: { lan: ['webhook:a', 'webhook:b'] } },
  channels: { webhook: { accounts: {
    main: { secret: '${SECRET}', dmPolicy: 'allowlist', allowFrom: ['a', 'b', 'c', 'boss'],
            groups: { room: {}, hall: {} } },
    alarms: { secret: '${SECRET}', dmPolicy: 'open' },
  } } },
  tenants: { acme: { channelAccounts: ['webhook:acme'], agents: { agents: [{ id: 'clerk' }] } } },
  log: { level: 'silent' },
}`;

async function open(hook?: string) {
  const data = scratchFolder();
  write(data, 'troupe.json5', TEXT);
  mkdirSync(join(data, 'hooks'));
  if (hook !== undefined) write(data, 'hooks/route.js', hook);
  const { config } = loadConfig({ env: {}, flags: { data, port: '0', token: TOKEN } });
  const troupe = await startTroupe(config);
  onTestFinished(() => troupe.stop());
  let sent = 0;
  const post = async (account: string, sender: string, more: object = {}) => {
    const body = JSON.stringify({ sender: { id: sender }, text: 'hello', ...more });
    const [id, timestamp] = [`m${++sent}`, String(Math.floor(Date.now() / 1_000))];
    const answer = await fetch(`${new URL(troupe.url).origin}/hooks/webhook/${account}`, {
      method: 'POST',
      body,
      headers: {
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': signatureOf(SECRET, id, timestamp, body),
      },
    });
    expect(answer.status).toBe(202);
  };
  const sessions = () =>
    troupe.system.index
      .list<SessionRow>('sessions', 'default')
      .map(({ key, value }) => `${key} by ${value.routedBy}`)
      .toSorted();
  const refused = (account: string) =>
    troupe.system.index.get<ChannelRow>(CHANNELS_INDEX, 'default', `webhook:${account}`)?.refused;
  return { post, sessions, refused };
}

it('messages go to the agent and session of the table; the others are refused and counted', async () => {
  const { post, sessions, refused } = await open();
  const group = (id: string) => ({ chat: { kind: 'group', id } });
  await post('main', 'a');
  await post('main', 'b');
  await post('main', 'c');
  await post('main', 'boss');
  await post('alarms', 'c');
  await post('main', 'stranger');
  await post('main', 'stranger', group('room'));
  await post('main', 'stranger', {
    ...group('room'),
    chat: { ...group('room').chat, thread: '7' },
  });
  await post('main', 'stranger', group('cellar'));
  await eventually(() => {
    expect(sessions()).toEqual([
      'agent:main:webhook:dm:c by first agent',
      'agent:main:webhook:dm:lan by first agent',
      'agent:ops:webhook:dm:c by account alarms',
      'agent:work:webhook:dm:boss by sender boss',
      'agent:work:webhook:group:room by group room',
      'agent:work:webhook:group:room:topic:7 by group room',
    ]);
    expect(refused('main')).toEqual({ 'dm.allowlist': 1, 'group.list': 1 });
  });
});

it('the hook chooses another agent for the same conversation', async () => {
  const { post, sessions } = await open(`
    export async function routeMessage({ message, channel, account, sender }) {
      if (message.text.includes('#ops')) return { agent: 'ops' };
      if (message.text.includes('#x')) return { agent: 'unknown' };
      if (message.text.includes('#fails')) throw new Error('no');
    }`);
  await post('main', 'a', { text: 'see #ops' });
  await post('main', 'c', { text: 'see #x' });
  await post('main', 'boss', { text: 'see #fails' });
  await eventually(() =>
    expect(sessions()).toEqual([
      'agent:main:webhook:dm:c by first agent (the hook chose "unknown", which is no agent)',
      'agent:ops:webhook:dm:lan by hook',
      'agent:work:webhook:dm:boss by sender boss',
    ]),
  );
});
