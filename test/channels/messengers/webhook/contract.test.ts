import { webhook } from '../../../../channels/messengers/webhook/adapter.ts';
import type { ChatRef } from '../../../../protocols/channel.ts';
import { Secret } from '../../../../runtime/config/index.ts';
import type { HttpFault } from '../../../servers/http-faults.ts';
import { openWebhookServer } from '../../../servers/webhook-server.ts';
import { channelContract } from '../contract.ts';
import type { Messenger, SendFault } from '../messenger.ts';

const FAULTS: Readonly<Record<SendFault, HttpFault>> = {
  rateLimit: { kind: 'answer', status: 429, headers: { 'retry-after': '7' } },
  errorBefore: { kind: 'answer', status: 500 },
  errorAfter: { kind: 'answer', status: 500, accepted: true },
  cutBefore: { kind: 'cut' },
  cutAfter: { kind: 'cut', accepted: true },
  refuse: { kind: 'answer', status: 422, body: 'no such chat' },
};
let secrets = 0;

/** Each account has a program of its own. */
async function openTwo(hookUrl: string): Promise<Messenger> {
  const [one, other] = [await openOne(hookUrl), await openOne(hookUrl)];
  const close = async () => void (await Promise.all([one.close(), other.close()]));
  return { ...one, another: () => other, close };
}

async function openOne(hookUrl: string): Promise<Messenger> {
  const key = `secret of 24 bytes, number ${++secrets}`;
  const secret = `whsec_${Buffer.from(key).toString('base64')}`;
  const server = await openWebhookServer(secret);
  let last: [id: string, body: object] = ['', {}];
  let count = 0;
  const write = (chat: ChatRef, text: string, mentionsAccount: boolean) => {
    const id = `msg_${++count}`;
    last = [id, { sender: { id: 'ci' }, chat, text, mentionsAccount }];
    server.send(hookUrl, ...last);
    return id;
  };
  const messenger: Messenger = {
    adapter: webhook,
    settings: { secret: new Secret(secret), url: `${server.url}/replies` },
    dm: { kind: 'dm', id: 'ci' },
    group: { kind: 'group', id: 'room' },
    thread: { kind: 'group', id: 'room', thread: 't1' },
    secrets: [key, secret],
    rateLimitMs: 7_000,
    write: (chat, text) => write(chat, text, false),
    mention: (chat) => void write(chat, 'you', true),
    redeliver: () => server.send(hookUrl, ...last),
    shown: (chat) =>
      [...server.messages]
        .filter(([, body]) => body.chat.id === chat.id && body.chat.thread === chat.thread)
        .map(([id, { text, file }]) => ({ id, text, ...(file && { file: fileOf(file) }) })),
    failSend: (fault) => void server.faults.push(FAULTS[fault]),
    failFile: (fault) => void server.faults.push(FAULTS[fault]),
    another: () => messenger,
    close: () => server.close(),
  };
  return messenger;
}

const fileOf = ({ name, content }: { readonly name: string; readonly content: string }) => ({
  name,
  contents: Buffer.from(content, 'base64'),
});

channelContract('webhook', webhook, openTwo);
