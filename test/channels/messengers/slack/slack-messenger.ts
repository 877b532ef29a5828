/** The local Slack as the contract of channels sees it. */
import { slack } from '../../../../channels/messengers/slack/adapter.ts';
import type { ChatRef } from '../../../../protocols/channel.ts';
import { Secret } from '../../../../runtime/config/index.ts';
import type { HttpFault } from '../../../servers/http-faults.ts';
import type { SlackApp } from '../../../servers/slack-app.ts';
import { openSlackServer, type SlackServer } from '../../../servers/slack-server.ts';
import type { Messenger, SendFault } from '../messenger.ts';

const post = '/chat.postMessage';
const complete = '/files.completeUploadExternal';
const FAULTS: Readonly<Record<SendFault, HttpFault>> = {
  rateLimit: { path: post, kind: 'answer', status: 429, headers: { 'retry-after': '7' } },
  errorBefore: { path: post, kind: 'answer', status: 500 },
  errorAfter: { path: post, kind: 'answer', status: 500, accepted: true },
  cutBefore: { path: post, kind: 'cut' },
  cutAfter: { path: post, kind: 'cut', accepted: true },
  refuse: {
    path: post,
    kind: 'answer',
    status: 200,
    body: JSON.stringify({ ok: false, error: 'not_in_channel' }),
  },
};
const THREAD = '1600000000.000100';

/** @param hookUrl the request URL of the Events API; without it Socket Mode is used */
export async function openSlackMessenger(hookUrl?: string): Promise<Messenger> {
  const server = await openSlackServer();
  return messengerOf(server, server.addApp(), hookUrl);
}

export const settingsOf = (server: SlackServer, app: SlackApp, isSocketMode: boolean) => ({
  botToken: new Secret(app.botToken),
  apiUrl: server.apiUrl,
  mediaBytesMax: 1_000_000,
  ...(isSocketMode
    ? { appToken: new Secret(app.appToken) }
    : { signingSecret: new Secret(app.signingSecret) }),
});

function messengerOf(server: SlackServer, app: SlackApp, hookUrl: string | undefined): Messenger {
  app.requestUrl = hookUrl;
  const inThread = ({ thread }: ChatRef) => (thread === undefined ? {} : { thread_ts: thread });
  return {
    adapter: slack,
    settings: settingsOf(server, app, hookUrl === undefined),
    dm: { kind: 'dm', id: 'D1' },
    group: { kind: 'group', id: 'C1' },
    thread: { kind: 'group', id: 'C1', thread: THREAD },
    secrets: [app.botToken, app.appToken, app.signingSecret],
    rateLimitMs: 7_000,
    mayReorder: true,
    write: (chat, text) => app.write(chat.id, text, inThread(chat)),
    mention: ({ id }) => void app.write(id, `ask <@${app.user}> about it`),
    redeliver: () => app.emitLastAgain(),
    shown: ({ id, thread }) =>
      app.shown(id, thread).map(({ ts, text, files }) => ({
        id: ts,
        text,
        ...(files && { file: files[0]! }),
      })),
    failSend: (fault) => void server.faults.push(FAULTS[fault]),
    failFile: (fault) => void server.faults.push({ ...FAULTS[fault], path: complete }),
    ...(hookUrl === undefined ? { disconnect: () => app.cut(), revoke: () => app.revoke() } : {}),
    revoked: /install the app again/,
    addFile(bytes) {
      const id = `F${app.files.size + 1}`;
      app.files.set(id, Buffer.from(bytes));
      return { kind: 'file', id };
    },
    another: () => messengerOf(server, server.addApp(), hookUrl),
    close: () => server.close(),
  };
}
