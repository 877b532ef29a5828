/**
 * A double of the package Baileys at its border, `makeWASocket`: tests copy this file into the
 * `node_modules` of a copy of examples/extensions/whatsapp-web. It talks to whatsapp-web-server.ts.
 *
 * It does what the plugin relies on: it acknowledges a message before its event, `sendMessage` ends
 * when the message is written, and failures have the status of a Boom. Everything else of Baileys
 * is absent and thereby not tested: the handshake, encryption, the linking of a device, the
 * mapping of LIDs, and WhatsApp itself.
 *
 * Boundary: runs in the process of the plugin, and imports Node's modules only.
 */
import { EventEmitter } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

/** What the server sends, one line of JSON each. */
export type FromServer =
  | { readonly type: 'qr' }
  | { readonly type: 'linked'; readonly creds: object }
  | { readonly type: 'open' }
  | { readonly type: 'close'; readonly status: number; readonly message: string }
  | { readonly type: 'messages'; readonly kind: 'notify' | 'append'; readonly messages: Raw[] }
  | { readonly type: 'ready'; readonly id: string }
  | { readonly type: 'fail'; readonly id: string; readonly status: number }
  | { readonly type: 'ack'; readonly id: string; readonly error?: string }
  /** a listener of Baileys fails without a handler */
  | { readonly type: 'throw' }
  | { readonly type: 'file'; readonly data: string };

/** What the plugin's side sends. Bytes of contents are `{ $bytes: base64 }`. */
export type FromDouble =
  | { readonly type: 'hello'; readonly me?: string; readonly isLinked: boolean }
  | { readonly type: 'pair'; readonly phoneNumber: string }
  | { readonly type: 'receipt'; readonly ids: readonly string[] }
  | { readonly type: 'ask'; readonly id: string }
  | {
      readonly type: 'message';
      readonly id: string;
      readonly jid: string;
      readonly content: Content;
      readonly quoted?: string;
    }
  | { readonly type: 'presence'; readonly jid: string }
  | { readonly type: 'download'; readonly path: string };

type Content = {
  readonly text?: string;
  readonly edit?: { readonly id: string };
  readonly fileName?: string;
  readonly document?: { readonly $bytes: string };
  readonly image?: { readonly $bytes: string };
};
type Raw = { readonly key: { readonly id: string } };
type Creds = { me?: { id: string }; account?: object };

class Failure extends Error {
  readonly output: { readonly statusCode: number };
  constructor(message: string, statusCode: number) {
    super(message);
    this.output = { statusCode };
  }
}

export const initAuthCreds = (): Creds => ({});
export const proto = { Message: { AppStateSyncKeyData: { fromObject: (value: object) => value } } };

export function makeWASocket(config: {
  readonly waWebSocketUrl: string;
  readonly auth: { readonly creds: Creds };
}) {
  const { creds } = config.auth;
  const ev = new EventEmitter();
  const ws = new EventEmitter();
  const asked = new Map<string, (failure?: Failure) => void>();
  const line = lineTo(config.waWebSocketUrl);
  let isClosed = false;
  const tell = (message: FromDouble) => void line.write(`${JSON.stringify(message, asText)}\n`);
  const end = (error?: Error): Promise<void> => {
    if (isClosed) return Promise.resolve();
    isClosed = true;
    line.destroy();
    for (const settle of asked.values()) settle(new Failure('Connection Closed', 428));
    ev.emit('connection.update', { connection: 'close', lastDisconnect: { error } });
    return Promise.resolve();
  };
  line.on('connect', () =>
    tell({ type: 'hello', isLinked: creds.account !== undefined, ...meOf(creds) }),
  );
  line.on('close', () => void end(new Failure('Connection Terminated', 428)));
  const on: { readonly [T in FromServer['type']]: (message: never) => void } = {
    qr: () => ev.emit('connection.update', { qr: 'ref' }),
    linked: ({ creds: signed }: { creds: object }) => ev.emit('creds.update', signed),
    open: () => ev.emit('connection.update', { connection: 'open' }),
    close: ({ status, message }: { status: number; message: string }) =>
      void end(new Failure(message, status)),
    messages: ({ kind, messages }: { kind: string; messages: Raw[] }) => {
      tell({ type: 'receipt', ids: messages.map(({ key }) => key.id) });
      ev.emit('messages.upsert', { type: kind, messages });
    },
    ready: ({ id }: { id: string }) => asked.get(id)?.(),
    fail: ({ id, status }: { id: string; status: number }) =>
      asked.get(id)?.(new Failure(`status ${status}`, status)),
    ack: ({ id, error }: { id: string; error?: string }) =>
      ws.emit('CB:ack,class:message', { attrs: { id, ...(error ? { error } : {}) } }),
    throw: () => void Promise.reject(new Error('Connection Closed in a listener')),
    file: () => {},
  };
  onLines(line, (message) => on[message.type](message as never));
  return {
    ev,
    ws,
    end,
    signalRepository: {
      lidMapping: {
        getPNForLID: (lid: string) =>
          Promise.resolve(lid.replace(/^9(.*)@lid$/, '$1:0@s.whatsapp.net')),
      },
    },
    requestPairingCode(phoneNumber: string): Promise<string> {
      // as Baileys: long before the phone has signed
      ev.emit('creds.update', { me: { id: `${phoneNumber}@s.whatsapp.net` } });
      tell({ type: 'pair', phoneNumber });
      return Promise.resolve('ABCD1234');
    },
    async sendMessage(
      jid: string,
      content: Content,
      { messageId: id, quoted }: { messageId: string; quoted?: Raw },
    ): Promise<void> {
      if (isClosed) throw new Failure('Connection Closed', 428);
      // Baileys asks for the devices of the person first
      const failure = await new Promise<Failure | undefined>((resolve) => {
        asked.set(id, resolve);
        tell({ type: 'ask', id });
      });
      asked.delete(id);
      if (failure) throw failure;
      tell({ type: 'message', id, jid, content, ...(quoted ? { quoted: quoted.key.id } : {}) });
    },
    sendPresenceUpdate(_: string, jid: string): Promise<void> {
      tell({ type: 'presence', jid });
      return Promise.resolve();
    },
  };
}

/** @param directPath `/PORT/NAME` of a local server */
export async function* downloadContentFromMessage({ directPath }: { directPath: string }) {
  const line = lineTo(`ws://127.0.0.1:${directPath.split('/')[1]}`);
  const file = new Promise<FromServer>((resolve, reject) => {
    onLines(line, resolve);
    line.on('close', () => reject(new Failure('Failed to fetch the file', 404)));
  });
  line.write(`${JSON.stringify({ type: 'download', path: directPath } satisfies FromDouble)}\n`);
  const answer = await file;
  line.destroy();
  const bytes = Buffer.from(answer.type === 'file' ? answer.data : '', 'base64');
  for (let from = 0; from < bytes.length; from += 65_536) yield bytes.subarray(from, from + 65_536);
}

function lineTo(url: string): Socket {
  const { hostname, port } = new URL(url);
  return connect(Number(port), hostname).on('error', () => {});
}

const onLines = (line: Socket, listener: (message: FromServer) => void): void => {
  const lines = createInterface({ input: line });
  lines.on('line', (text) => listener(JSON.parse(text, asBytes) as FromServer));
  lines.on('error', () => {});
};

const meOf = ({ me }: Creds) => (me ? { me: me.id } : {});

function asText(this: unknown, name: string, value: unknown): unknown {
  const original = (this as Readonly<Record<string, unknown>>)[name];
  if (!(original instanceof Uint8Array)) return value;
  return { $bytes: Buffer.from(original).toString('base64') };
}

function asBytes(_: string, value: unknown): unknown {
  const { $bytes } = (value ?? {}) as { readonly $bytes?: unknown };
  return typeof $bytes === 'string' ? Buffer.from($bytes, 'base64') : value;
}
