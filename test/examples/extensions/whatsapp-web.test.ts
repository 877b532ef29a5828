/**
 * The example whatsapp-web in its process, by the contract that every channel passes, with a double
 * of Baileys' socket (test/servers/baileys-double.ts). So nothing here tests the protocol of
 * WhatsApp, its encryption, or the linking of a real device: whatsapp-web-baileys.test.ts has what
 * a local server can test with the real package.
 */
import { appendFileSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ChatRef } from '../../../protocols/channel.ts';
import { AccountRun, filePieceOf, pieceOf } from '../../channels/messengers/account-run.ts';
import { channelContract } from '../../channels/messengers/contract.ts';
import type { Messenger, SendFault } from '../../channels/messengers/messenger.ts';
import { eventually } from '../../runtime/eventually.ts';
import { write } from '../../runtime/config/folder.ts';
import {
  credsOf,
  openWhatsAppServer,
  type RawMessage,
  type WhatsAppFault,
  type WhatsAppNumber,
  type WhatsAppServer,
} from '../../servers/whatsapp-web-server.ts';
import { addDouble, openWhatsAppWeb } from './whatsapp-web-plugin.ts';

const { plugins, row, folder, adapter } = await openWhatsAppWeb(addDouble);

const faults: Readonly<Record<SendFault, WhatsAppFault>> = {
  rateLimit: { kind: 'fail', status: 429 },
  errorBefore: { kind: 'fail', status: 500 },
  errorAfter: { kind: 'cut', accepted: true },
  cutBefore: { kind: 'cut', accepted: false },
  cutAfter: { kind: 'cut', accepted: true },
  refuse: { kind: 'refuse', error: '403' },
};

const ADA = '84911111111';
const dm = { kind: 'dm', id: ADA } as const;
const group = { kind: 'group', id: '120363025246125486@g.us' } as const;
const jidOf = ({ id }: ChatRef) => (id.includes('@') ? id : `${id}@s.whatsapp.net`);

let count = 0;

/** A text of Ada in a chat. */
const textIn = (chat: ChatRef, text: string, about: object = {}): RawMessage => ({
  key: {
    id: `3A${++count}`,
    remoteJid: jidOf(chat),
    ...(chat.kind === 'group' ? { participant: `${ADA}:3@s.whatsapp.net` } : {}),
  },
  message: { extendedTextMessage: { text, contextInfo: about } },
  pushName: 'Ada',
  messageTimestamp: 1_700_000_000,
});

const settingsOf = (server: WhatsAppServer, { number }: WhatsAppNumber) => ({
  config: { phoneNumber: number, serverUrl: server.url, mediaBytesMax: 1_000_000 },
  secrets: {},
});

const linkFile = (number: string) => `${number}/link.jsonl`;
const isLinked = ({ number }: WhatsAppNumber) =>
  write(folder, linkFile(number), `${JSON.stringify({ creds: credsOf(number) })}\n`);

function messengerOf(server: WhatsAppServer): Messenger & { readonly number: WhatsAppNumber } {
  const number = server.addNumber();
  isLinked(number);
  let last: RawMessage | undefined;
  const receive = (message: RawMessage) => {
    number.receive((last = message));
    return message.key.id;
  };
  return {
    adapter,
    number,
    settings: settingsOf(server, number),
    dm,
    group,
    needsConnection: true,
    secrets: ['of the phone'],
    rateLimitMs: 60_000,
    write: (chat, text) => receive(textIn(chat, text)),
    mention: (chat) =>
      void receive(textIn(chat, '@relay?', { mentionedJid: [`9${number.number}@lid`] })),
    redeliver: () => number.receive(last!),
    shown: (chat) => number.sent.filter(({ jid }) => jid === jidOf(chat)),
    failSend: (fault) => void number.faults.push(faults[fault]),
    failFile: (fault) => void number.faults.push(faults[fault]),
    disconnect: () => number.cut(),
    revoke: () => number.remove(),
    revoked: /To link it again, run troupe channels restart whatsapp-web:main/,
    addFile(bytes) {
      const name = `file${++count}`;
      server.files.set(name, bytes);
      const path = `/${server.port}/${name}`;
      return { kind: 'file', id: JSON.stringify({ type: 'document', key: 'a2V5', path }) };
    },
    another: () => messengerOf(server),
    close: () => server.close(),
  };
}

channelContract('a plugin for WhatsApp Web', adapter, async () =>
  messengerOf(await openWhatsAppServer()),
);

/** A server that is closed with the test, and a number of it. */
async function opened() {
  const server = await openWhatsAppServer();
  const messenger = messengerOf(server);
  const { number } = messenger;
  const run = new AccountRun(adapter, messenger.settings);
  onTestFinished(async () => {
    await run.stop();
    await server.close();
  });
  return { server, messenger, number, run };
}

/** A number that has no link yet. */
async function unlinked() {
  const server = await openWhatsAppServer();
  const number = server.addNumber();
  const run = new AccountRun(adapter, settingsOf(server, number));
  onTestFinished(async () => {
    await run.stop();
    await server.close();
  });
  return { number, run };
}

describe('linking', () => {
  it('shows a code while nothing is connected, and connects when the phone has signed', async () => {
    const { number, run } = await unlinked();
    run.start();
    const { error, isFinal } = await run.ended();
    expect(isFinal).toBe(false);
    expect(error.message).toContain('enter ABCD-1234');
    expect(run.connections).toBe(0);
    run.start();
    number.link();
    await eventually(() => expect(run.identity).toBe(number.number));
    expect(number.codes).toEqual([number.number]);
  });

  it('a code that is not entered in time ends finally: each one is shown on the phone', async () => {
    const { number, run } = await unlinked();
    run.start();
    await run.ended();
    number.tell({ type: 'close', status: 408, message: 'QR refs attempts ended' });
    run.start();
    const { error, isFinal } = await run.ended();
    expect(isFinal).toBe(true);
    expect(error.message).toMatch(/not linked: QR refs .* run troupe channels restart/);
    expect(number.codes).toHaveLength(1);
    // an operator restarts the account
    run.start();
    expect((await run.ended()).error.message).toContain('enter ABCD-1234');
    expect(number.codes).toHaveLength(2);
  });

  it('a link that was begun and not signed is none after a restart of the process', async () => {
    const { number, run } = await unlinked();
    run.start();
    await run.ended();
    const text = readFileSync(join(folder, linkFile(number.number)), 'utf8');
    expect(text).toContain(`"me":{"id":"${number.number}@s.whatsapp.net"}`);
    await plugins.restart('whatsapp-web');
    await eventually(() => expect(row().state).toBe('running'));
    run.start();
    expect((await run.ended()).error.message).toContain('enter ABCD-1234');
  });

  it('a removed device is linked again, and what the former link was is kept', async () => {
    const { number, run } = await opened();
    await run.connected();
    number.remove();
    expect(await run.ended()).toMatchObject({ isFinal: true });
    number.isRemoved = false;
    run.start();
    expect((await run.ended()).error.message).toContain('enter ABCD-1234');
    expect(readdirSync(join(folder, number.number))).toContain('link.jsonl.former');
  });
});

describe('the end of a connection', () => {
  it.each([
    [440, /another program uses this link/],
    [403, /banned/],
    [405, /install a newer one/],
  ])('with status %i is final, and says what to do', async (status, text) => {
    const { number, run } = await opened();
    await run.connected();
    number.tell({ type: 'close', status, message: 'Stream Errored' });
    const { error, isFinal } = await run.ended();
    expect(isFinal).toBe(true);
    expect(error.message).toMatch(text);
  });

  it('that asks for a restart is followed by a connection at once', async () => {
    const { number, run } = await opened();
    await run.connected();
    number.tell({ type: 'close', status: 515, message: 'Stream Errored (restart required)' });
    await eventually(() => expect(number.connections).toBe(2));
    expect(run.end).toBeUndefined();
    // more of them are left to the pauses of the runtime
    for (let n = 3; n <= 5; n++) {
      number.tell({ type: 'close', status: 515, message: 'Stream Errored (restart required)' });
      if (n < 5) await eventually(() => expect(number.connections).toBe(n));
    }
    expect(await run.ended()).toMatchObject({ isFinal: false });
    expect(number.connections).toBe(4);
  });

  it('a failure of Baileys without a handler ends the connection, and not the process', async () => {
    const { number, run } = await opened();
    await run.connected();
    const { restarts } = row();
    number.tell({ type: 'throw' });
    const { error, isFinal } = await run.ended();
    expect([error.message, isFinal]).toEqual([
      'the connection to WhatsApp ended: Connection Closed in a listener',
      false,
    ]);
    await run.connected();
    expect(row()).toMatchObject({ state: 'running', restarts });
  });
});

describe('a received message', () => {
  it('that troupe had not stored when the process ended arrives after its next start', async () => {
    const { messenger, run } = await opened();
    await run.connected();
    run.isUnavailable = true;
    messenger.write(dm, 'acknowledged by Baileys');
    await run.ended();
    await plugins.restart('whatsapp-web');
    run.isUnavailable = false;
    const [message] = await run.received(1);
    expect(message?.text).toBe('acknowledged by Baileys');
  });

  it('of the account itself, of a channel or of the status posts is none', async () => {
    const { number, messenger, run } = await opened();
    await run.connected();
    const raw = textIn(dm, 'ignored');
    number.receive({ ...raw, key: { ...raw.key, id: 'own', fromMe: true } });
    number.receive({ ...raw, key: { id: 'channel', remoteJid: '12036@newsletter' } });
    number.receive({ ...raw, key: { id: 'status', remoteJid: 'status@broadcast' } });
    messenger.write(dm, 'read');
    expect((await run.received(1)).map(({ text }) => text)).toEqual(['read']);
  });

  it('has the phone number of its sender where WhatsApp tells it, else the LID', async () => {
    const { number, run } = await opened();
    await run.connected();
    const from = (id: string, key: object) =>
      number.receive({ ...textIn(dm, id), key: { id, ...key } });
    from('named', { remoteJid: '77@lid', remoteJidAlt: `${ADA}:2@s.whatsapp.net` });
    from('stored', { remoteJid: `9${ADA}:4@lid` });
    from('hidden', { remoteJid: '77:5@lid' });
    from('group', { remoteJid: group.id, participant: '78@lid', participantAlt: jidOf(dm) });
    const chats = (await run.received(4)).map(({ chat, sender }) => [chat.id, sender.id]);
    expect(chats).toEqual([
      [ADA, ADA],
      [ADA, ADA],
      ['77@lid', '77@lid'],
      [group.id, ADA],
    ]);
  });

  it('brings its file, its caption and what it answers, also out of a wrapper', async () => {
    const { number, run } = await opened();
    await run.connected();
    const imageMessage = {
      caption: 'look',
      mimetype: 'image/jpeg',
      fileLength: '1234',
      mediaKey: { $bytes: 'a2V5' },
      directPath: '/v/t62/1',
      contextInfo: { stanzaId: 'Q1', participant: `${number.number}@s.whatsapp.net` },
    };
    number.receive({
      ...textIn(group, ''),
      message: { ephemeralMessage: { message: { imageMessage } } },
    });
    const [message] = await run.received(1);
    expect(message).toMatchObject({
      text: 'look',
      replyTo: 'Q1',
      mentionsAccount: true,
      media: [{ kind: 'image', mimeType: 'image/jpeg', bytes: 1234 }],
      sentAt: 1_700_000_000_000,
    });
  });

  it('that is a reaction names the message that it is about', async () => {
    const { number, run } = await opened();
    await run.connected();
    const reactionMessage = { text: '👍', key: { id: 'R1' } };
    number.receive({ ...textIn(dm, ''), message: { reactionMessage } });
    expect((await run.received(1))[0]).toMatchObject({
      kind: 'reaction',
      text: '👍',
      replyTo: 'R1',
    });
  });
});

describe('a sent message', () => {
  it('quotes the message that it answers, and is sent without it after a restart', async () => {
    const { messenger, number, run } = await opened();
    await run.connected();
    const replyTo = messenger.write(dm, 'question');
    await run.received(1);
    await run.send(pieceOf(dm, 'answer', { replyTo }));
    await run.send(pieceOf(dm, 'late', { replyTo: 'unknown' }));
    expect(number.sent.map(({ text, quoted }) => [text, quoted])).toEqual([
      ['answer', replyTo],
      ['late', undefined],
    ]);
  });

  it('is an image when it is a JPEG or PNG, and its chat sees that the agent types', async () => {
    const { number, run } = await opened();
    await run.connected();
    await run.account.typing!(dm, AbortSignal.timeout(20_000));
    const contents = Buffer.from('png');
    await run.sendFile(filePieceOf(dm, { name: 'a.png', contentType: 'image/png', contents }));
    expect(number.sent[0]?.file).toEqual({ name: '', contents });
    await eventually(() => expect(number.typing).toEqual([jidOf(dm)]));
  });
});

describe('the file of a link', () => {
  it('a line that a kill has cut is dropped, and the link is kept', async () => {
    const { number, run } = await opened();
    appendFileSync(join(folder, linkFile(number.number)), '{"keys":{"session":{"1":{"$by');
    await run.connected();
    expect(run.identity).toBe(number.number);
    const text = readFileSync(join(folder, linkFile(number.number)), 'utf8');
    expect(text).not.toContain('$by');
  });

  it('that is damaged in its middle is not used', async () => {
    const { number, run } = await opened();
    write(folder, linkFile(number.number), 'x\n{}\n');
    run.start();
    const { error } = await run.ended();
    expect(error.message).toMatch(/link\.jsonl is damaged: restore it/);
    expect(number.connections).toBe(0);
  });
});
