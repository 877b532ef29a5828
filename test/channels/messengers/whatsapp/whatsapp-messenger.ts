/** The local WhatsApp as the contract of channels sees it. */
import { whatsapp } from '../../../../channels/messengers/whatsapp/adapter.ts';
import { Secret } from '../../../../runtime/config/index.ts';
import type { HttpFault } from '../../../servers/http-faults.ts';
import {
  failureBody,
  openWhatsAppServer,
  type WhatsAppNumber,
  type WhatsAppServer,
} from '../../../servers/whatsapp-server.ts';
import type { Messenger, SendFault } from '../messenger.ts';

const path = '/messages';
const FAULTS: Readonly<Record<SendFault, HttpFault>> = {
  rateLimit: {
    path,
    kind: 'answer',
    status: 400,
    headers: { 'retry-after': '7' },
    body: failureBody(130429, 'Rate limit hit'),
  },
  errorBefore: { path, kind: 'answer', status: 500 },
  errorAfter: { path, kind: 'answer', status: 500, accepted: true },
  cutBefore: { path, kind: 'cut' },
  cutAfter: { path, kind: 'cut', accepted: true },
  refuse: { path, kind: 'answer', status: 400, body: failureBody(131026, 'Undeliverable') },
};

export const VERIFY_TOKEN = 'a text of our choice';

export const settingsOf = (server: WhatsAppServer, number: WhatsAppNumber) => ({
  accessToken: new Secret(number.accessToken),
  phoneNumberId: number.phoneNumberId,
  appSecret: new Secret(number.appSecret),
  verifyToken: new Secret(VERIFY_TOKEN),
  apiUrl: server.url,
  mediaBytesMax: 1_000_000,
});

export async function openWhatsAppMessenger(hookUrl: string): Promise<Messenger> {
  const server = await openWhatsAppServer();
  return messengerOf(server, server.addNumber(), hookUrl);
}

function messengerOf(server: WhatsAppServer, number: WhatsAppNumber, hookUrl: string): Messenger {
  number.hookUrl = hookUrl;
  return {
    adapter: whatsapp,
    settings: settingsOf(server, number),
    dm: { kind: 'dm', id: '84901' },
    secrets: [number.accessToken, number.appSecret, VERIFY_TOKEN],
    rateLimitMs: 7_000,
    write: ({ id }, text) => number.write(id, text),
    redeliver: () => number.postLastAgain(),
    shown: (chat) => number.sent.filter(({ to }) => to === chat.id),
    failSend: (fault) => void server.faults.push(FAULTS[fault]),
    failFile: (fault) => void server.faults.push(FAULTS[fault]),
    addFile(bytes) {
      const id = String(900 + number.files.size);
      number.files.set(id, Buffer.from(bytes));
      return { kind: 'file', id };
    },
    another: () => messengerOf(server, server.addNumber(), hookUrl),
    close: () => server.close(),
  };
}
