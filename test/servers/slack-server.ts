/**
 * A local Slack: the methods of the Web API that the adapter uses, and Socket Mode. The official
 * clients of test/channels/messengers/slack/official-clients.test.ts prove it.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { randomUUID } from 'node:crypto';
import { type WebSocket, WebSocketServer } from 'ws';
import {
  type Answer,
  type FaultyServer,
  json,
  openFaultyServer,
  type Received,
} from './http-faults.ts';
import { type Posted, SlackApp } from './slack-app.ts';

export type SlackServer = FaultyServer & {
  /** as `slackApiUrl` */
  readonly apiUrl: string;
  readonly apps: SlackApp[];
  addApp(): SlackApp;
  /** half-open: the sockets neither answer nor close */
  freeze(): void;
};

type Call = {
  readonly app: SlackApp;
  readonly fields: URLSearchParams;
  readonly token: string;
  /** of this server */
  readonly origin: string;
  readonly tickets: Map<string, SlackApp>;
};

export async function openSlackServer(): Promise<SlackServer> {
  const apps: SlackApp[] = [];
  const tickets = new Map<string, SlackApp>();
  const frozen = { value: false };
  const server = await openFaultyServer((request) => {
    const { token, fields } = read(request);
    const app = apps.find(({ appToken, botToken }) => token === appToken || token === botToken);
    const method = request.url.pathname.replace(/^\/api\//, '');
    const file = /^\/files\/(\w+)$/.exec(request.url.pathname)?.[1];
    if (file !== undefined) return downloadOf(app, file);
    const upload = /^\/upload\/(\w+)$/.exec(request.url.pathname)?.[1];
    if (upload !== undefined) return uploadOf(apps, upload, request.body);
    if (app === undefined) return json(200, { ok: false, error: 'invalid_auth' });
    if (app.isRevoked) return json(200, { ok: false, error: 'token_revoked' });
    return METHODS[method]?.({ app, fields, token, origin: server.url, tickets }) ?? unknown;
  });
  const upgrades = acceptSockets(tickets, frozen);
  server.server.on('upgrade', (...upgrade) => upgrades.accept(...upgrade));
  return {
    ...server,
    apiUrl: `${server.url}/api/`,
    apps,
    addApp() {
      const app = new SlackApp();
      apps.push(app);
      return app;
    },
    freeze: () => void (frozen.value = true),
    async close() {
      for (const app of apps) app.close();
      upgrades.close();
      await server.close();
    },
  };
}

const unknown = json(200, { ok: false, error: 'unknown_method' });
const failure = (error: string, more: object = {}) => json(200, { ok: false, error, ...more });

function read({ header, body }: Received) {
  const fields = new URLSearchParams(body.toString());
  const bearer = /^Bearer (.+)$/.exec(header('authorization') ?? '')?.[1];
  return { token: bearer ?? fields.get('token') ?? '', fields };
}

const METHODS: Readonly<Record<string, (call: Call) => Answer>> = {
  'auth.test': ({ app }) => {
    const { user: user_id, team: team_id, scopes } = app;
    const answer = json(200, { ok: true, user: 'bot', user_id, team_id, bot_id: 'B1' });
    return { ...answer, headers: { ...answer.headers, 'x-oauth-scopes': scopes } };
  },
  'apps.connections.open': ({ app, token, origin, tickets }) => {
    if (token !== app.appToken) return failure('not_allowed_token_type');
    const ticket = randomUUID();
    tickets.set(ticket, app);
    return json(200, { ok: true, url: `${origin.replace('http', 'ws')}/link/?ticket=${ticket}` });
  },
  'chat.postMessage': ({ app, fields }) => {
    const channel = fields.get('channel') ?? '';
    if (!app.channels.has(channel)) return failure('channel_not_found');
    const metadata = fields.get('metadata');
    const message = app.post(
      channel,
      fields.get('text') ?? '',
      fields.get('thread_ts') ?? undefined,
      metadata === null ? undefined : JSON.parse(metadata),
    );
    return json(200, { ok: true, channel, ts: message.ts, message });
  },
  'chat.update': ({ app, fields }) => {
    const [ts, text = ''] = [fields.get('ts'), fields.get('text') ?? undefined];
    if (text.length > 4_000) return failure('msg_too_long');
    const message = app.posted.find((one) => one.ts === ts && one.user === app.user);
    if (message === undefined) return failure('message_not_found');
    message.text = text;
    return json(200, { ok: true, channel: message.channel, ts, text });
  },
  'conversations.history': (call) =>
    historyOf(call, (one) => one.thread_ts === undefined || one.thread_ts === one.ts),
  'conversations.replies': (call) => {
    const thread = call.fields.get('ts');
    return historyOf(call, (one) => one.ts === thread || one.thread_ts === thread);
  },
  'files.getUploadURLExternal': ({ app, fields, origin }) => {
    if (!app.scopes.includes('files:write'))
      return failure('missing_scope', { needed: 'files:write' });
    const file_id = `F${randomUUID().replaceAll('-', '').toUpperCase()}`;
    app.uploads.set(file_id, { name: fields.get('filename') ?? '' });
    return json(200, { ok: true, upload_url: `${origin}/upload/${file_id}`, file_id });
  },
  'files.completeUploadExternal': ({ app, fields }) => {
    const [{ id, title } = { id: '', title: '' }] = JSON.parse(fields.get('files') ?? '[]');
    const channel = fields.get('channel_id') ?? '';
    if (app.uploads.get(id)?.contents === undefined) return failure('file_not_found');
    if (!app.channels.has(channel)) return failure('channel_not_found');
    app.share(channel, id, title, fields.get('thread_ts') ?? undefined);
    return json(200, { ok: true, files: [{ id, title }] });
  },
  'files.info': ({ app, fields, origin }) => {
    const id = fields.get('file') ?? '';
    if (!app.files.has(id)) return failure('file_not_found');
    return json(200, { ok: true, file: { id, url_private_download: `${origin}/files/${id}` } });
  },
};

/** Newest first, in pages; with the metadata only if the app may read it. */
function historyOf({ app, fields }: Call, isPart: (message: Posted) => boolean): Answer {
  if (!/history/.test(app.scopes)) return failure('missing_scope', { needed: 'channels:history' });
  const hasMetadata =
    fields.get('include_all_metadata') === 'true' && app.scopes.includes('metadata.message:read');
  const start = Number(fields.get('cursor') ?? 0);
  const limit = Number(fields.get('limit') ?? 100);
  const oldest = Number(fields.get('oldest') ?? 0);
  const all = app.posted
    .filter((one) => one.channel === fields.get('channel') && Number(one.ts) > oldest)
    .filter(isPart)
    .reverse()
    .map(({ metadata, ...message }) => (hasMetadata ? { metadata, ...message } : message));
  const next_cursor = start + limit < all.length ? String(start + limit) : '';
  const messages = all.slice(start, start + limit);
  const has_more = next_cursor !== '';
  return json(200, { ok: true, messages, has_more, response_metadata: { next_cursor } });
}

/** The URL is secret; no token is needed. */
function uploadOf(apps: readonly SlackApp[], id: string, contents: Buffer): Answer {
  const app = apps.find(({ uploads }) => uploads.has(id));
  if (app === undefined) return { status: 404 };
  app.uploads.set(id, { ...app.uploads.get(id), contents });
  return { status: 200, body: `OK - ${contents.length}` };
}

/** Without a right, Slack shows the page for the login. */
function downloadOf(app: SlackApp | undefined, file: string): Answer {
  const bytes = app?.scopes.includes('files:read') ? app.files.get(file) : undefined;
  if (bytes === undefined)
    return { status: 200, headers: { 'content-type': 'text/html; charset=utf-8' }, body: '<html>' };
  return { status: 200, headers: { 'content-type': 'application/octet-stream' }, body: bytes };
}

function acceptSockets(tickets: Map<string, SlackApp>, frozen: { readonly value: boolean }) {
  const sockets = new WebSocketServer({ noServer: true, autoPong: false });
  const serve = (socket: WebSocket, app: SlackApp) => {
    socket.on('error', () => {});
    socket.on('ping', (bytes) => {
      if (!frozen.value) socket.pong(bytes);
    });
    app.accept(socket);
  };
  return {
    close: () => sockets.close(),
    accept(request: IncomingMessage, socket: Duplex, head: Buffer) {
      const ticket = new URL(request.url ?? '/', 'http://local').searchParams.get('ticket') ?? '';
      const app = tickets.get(ticket);
      // A ticket is used once.
      tickets.delete(ticket);
      if (app === undefined) return socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
      return sockets.handleUpgrade(request, socket, head, (opened) => serve(opened, app));
    },
  };
}
