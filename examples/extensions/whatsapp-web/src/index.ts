/**
 * A channel for WhatsApp Web: a linked device of a number, with the library Baileys. It is
 * unofficial; README.md says what that means.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type CallContext, definePlugin, type PluginAccount } from 'troupe/plugin-sdk';
import { Account } from './account.ts';
import { downloaded, outgoingFile } from './files.ts';
import { endAll } from './session.ts';

/** As in the manifest. */
const MEDIA_BYTES_MAX = 8_388_608;

const accounts = new Map<string, Account>();

function accountOf({ name, config }: PluginAccount, { plugin }: CallContext): Account {
  const { phoneNumber, serverUrl } = config as { phoneNumber: string; serverUrl?: string };
  const known = accounts.get(phoneNumber);
  if (known) return known;
  const folder = join(String(plugin.config['folder']), phoneNumber);
  const account = new Account({ name, phoneNumber, folder, serverUrl });
  accounts.set(phoneNumber, account);
  return account;
}

export default definePlugin({
  name: 'whatsapp-web',
  version: '1.0.0',
  start({ config }) {
    // Baileys encrypts files that it sends in the folder for temporary files.
    const folder = join(String(config['folder']), 'temporary');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    process.env['TMPDIR'] = folder;
    process.on('unhandledRejection', (error) => {
      console.error(`a failure without a handler ended the connections: ${String(error)}`);
      endAll(error);
    });
  },
  channels: [
    {
      id: 'whatsapp-web',
      start: (account, connection, context) => accountOf(account, context).start(connection),
      send: (account, { chat, text, replyTo }, context) =>
        accountOf(account, context).send(chat.id, { text, linkPreview: null }, replyTo),
      sendFile: (account, { chat, file, replyTo }, context) =>
        accountOf(account, context).send(chat.id, outgoingFile(file), replyTo),
      edit: (account, { chat, text, messageId }, context) =>
        accountOf(account, context).edit(chat.id, messageId, text),
      typing: (account, chat, context) => accountOf(account, context).typing(chat.id),
      download({ config }, { id }, { signal }) {
        const { mediaBytesMax = MEDIA_BYTES_MAX } = config as { mediaBytesMax?: number };
        return downloaded(id, mediaBytesMax, signal);
      },
    },
  ],
});
