/** The example channel of a plugin, in its process, by the contract that every channel passes. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openPlugins } from '../../../agent/plugins/open-plugins.ts';
import { pluginChannel } from '../../../installation/plugin-channels.ts';
import type { ChatRef, InboundMessage } from '../../../protocols/channel.ts';
import { loadConfig, Secret } from '../../../runtime/config/index.ts';
import { NONE_TAKEN } from '../../agent/plugins/plugin-folder.ts';
import { AccountRun, pieceOf } from '../../channels/messengers/account-run.ts';
import { channelContract } from '../../channels/messengers/contract.ts';
import type { Messenger, SendFault } from '../../channels/messengers/messenger.ts';
import { eventually } from '../../runtime/eventually.ts';
import { write } from '../../runtime/config/folder.ts';
import type { HttpFault } from '../../servers/http-faults.ts';
import {
  openRelayServer,
  type RelayAccount,
  type RelayServer,
} from '../../servers/relay-server.ts';

const data = mkdtempSync(join(tmpdir(), 'troupe-relay-'));
const folder = join(import.meta.dirname, '../../../examples/extensions');
const text = JSON.stringify({ plugins: { folder, entries: { relay: { enabled: true } } } });
const file = write(data, 'troupe.json5', text);
const { config } = loadConfig({ env: {}, home: data, file, flags: { data } });
const plugins = await openPlugins(config, { report: () => {}, ...NONE_TAKEN });
afterAll(async () => {
  await plugins.close();
  rmSync(data, { recursive: true });
});
const { plugin, declared } = plugins.channels[0]!;
const adapter = pluginChannel(plugin, declared) as Messenger['adapter'];

const posting = { path: '/messages' };
const faults: Readonly<Record<SendFault, HttpFault>> = {
  rateLimit: { ...posting, kind: 'answer', status: 429, headers: { 'retry-after': '3' } },
  errorBefore: { ...posting, kind: 'answer', status: 500 },
  errorAfter: { ...posting, kind: 'answer', status: 500, accepted: true },
  cutBefore: { ...posting, kind: 'cut' },
  cutAfter: { ...posting, kind: 'cut', accepted: true },
  refuse: { ...posting, kind: 'answer', status: 403 },
};

const settingsOf = (server: RelayServer, { token }: RelayAccount) => ({
  config: { baseUrl: server.url },
  secrets: { token: new Secret(token) },
});

const fileOf = ({ name, data: bytes }: { readonly name: string; readonly data: string }) => ({
  name,
  contents: Buffer.from(bytes, 'base64'),
});

function messengerOf(server: RelayServer): Messenger {
  const account = server.addAccount();
  let count = 0;
  let last: InboundMessage | undefined;
  const receive = (chat: ChatRef, words: string, mentionsAccount: boolean): string => {
    const messageId = `m${++count}`;
    const sender = { id: 'p1', name: 'Ada' };
    const message = { kind: 'message', messageId, chat, sender, text: words } as const;
    last = { ...message, key: `${account.id}:${messageId}`, mentionsAccount };
    account.receive(last);
    return messageId;
  };
  return {
    adapter,
    settings: settingsOf(server, account),
    dm: { kind: 'dm', id: 'p1' },
    group: { kind: 'group', id: 'team' },
    thread: { kind: 'group', id: 'team', thread: 'plans' },
    secrets: [account.token],
    rateLimitMs: 3_000,
    write: (chat, words) => receive(chat, words, false),
    mention: (chat) => void receive(chat, 'so @relay?', true),
    redeliver: () => account.receive(last!),
    shown: ({ id, thread }) =>
      [...account.posted.values()]
        .filter(({ chat }) => chat.id === id && chat.thread === thread)
        .map(({ file: posted, ...one }) => ({ ...one, ...(posted && { file: fileOf(posted) }) })),
    failSend: (fault) => void server.faults.push(faults[fault]),
    failFile: (fault) => void server.faults.push(faults[fault]),
    disconnect: () => server.server.closeAllConnections(),
    revoke() {
      account.isRevoked = true;
      account.wake();
    },
    revoked: /Create a new token/,
    addFile(bytes) {
      const id = `f${++count}`;
      account.files.set(id, bytes);
      return { kind: 'file', id };
    },
    another: () => messengerOf(server),
    close: () => server.close(),
  };
}

channelContract('a plugin', adapter, async () => messengerOf(await openRelayServer()));

describe('a channel of a plugin', () => {
  it('names settings of an account that its manifest refuses, and nothing is sent', async () => {
    const run = new AccountRun(adapter, { config: { baseUrl: 'ftp://x' }, secrets: {} });
    run.start();
    expect(await run.ended()).toMatchObject({
      isFinal: true,
      error: {
        code: 'INVALID_ARGUMENT',
        message: expect.stringMatching(/config: \/baseUrl .*secrets\.token is missing/),
      },
    });
    expect(await run.send(pieceOf({ kind: 'dm', id: 'p1' }, 'x'))).toMatchObject({
      status: 'not_sent',
      isFinal: true,
    });
  });

  it('connects again after its process was ended, and loses no message', async () => {
    const server = await openRelayServer();
    const messenger = messengerOf(server);
    const run = await new AccountRun(adapter, messenger.settings).connected();
    messenger.write(messenger.dm, 'one');
    await run.received(1);
    await plugins.restart('relay');
    await eventually(() => expect(run.end).toMatchObject({ isFinal: false }));
    messenger.write(messenger.dm, 'two');
    expect((await run.received(2)).map((one) => one.text)).toEqual(['one', 'two']);
    await run.stop();
    await server.close();
  });
});
