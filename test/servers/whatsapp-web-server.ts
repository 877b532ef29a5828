/**
 * A local WhatsApp for baileys-double.ts: it keeps messages until the linked device acknowledges
 * them, and has faults by command. Its numbers are linked when a test says so.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { FromDouble, FromServer } from './baileys-double.ts';
import type { SentFile } from './forms.ts';

/** Of the next message that the device sends. */
export type WhatsAppFault =
  /** the question before the message is answered with this status */
  | { readonly kind: 'fail'; readonly status: number }
  /** the acknowledgement of the message has this error */
  | { readonly kind: 'refuse'; readonly error: string }
  /** the connection is closed before, or after WhatsApp has accepted the message */
  | { readonly kind: 'cut'; readonly accepted: boolean };

type Sent = {
  readonly id: string;
  readonly jid: string;
  readonly text: string;
  readonly quoted?: string;
  readonly file?: SentFile;
};
export type RawMessage = {
  readonly key: { readonly id: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
};

/** One number at WhatsApp. */
export class WhatsAppNumber {
  readonly number: string;
  readonly sent: Sent[] = [];
  readonly typing: string[] = [];
  readonly faults: WhatsAppFault[] = [];
  /** numbers for which a code was requested, one for each code */
  readonly codes: string[] = [];
  /** connections of the device so far */
  connections = 0;
  isRemoved = false;
  #waiting: RawMessage[] = [];
  #line: Socket | undefined;

  constructor(number: string) {
    this.number = number;
  }

  /** Kept until the device acknowledges it. */
  receive(message: RawMessage): void {
    this.#waiting.push(message);
    this.tell({ type: 'messages', kind: 'notify', messages: [message] });
  }

  tell(message: FromServer): void {
    this.#line?.write(`${JSON.stringify(message)}\n`);
  }

  /** Closes the connection of the device. */
  cut(): void {
    this.#line?.destroy();
  }

  /** The person enters the code: the phone signs, and WhatsApp asks for a new connection. */
  link(): void {
    this.tell({ type: 'linked', creds: credsOf(this.number) });
    this.tell({ type: 'close', status: 515, message: 'Stream Errored (restart required)' });
  }

  /** The person removes the device. */
  remove(): void {
    this.isRemoved = true;
    this.tell({ type: 'close', status: 401, message: 'Stream Errored (conflict)' });
  }

  /** What the device sends. */
  on(line: Socket, message: FromDouble): void {
    switch (message.type) {
      case 'hello':
        this.connections += 1;
        this.#line = line;
        return this.#greet(message.isLinked);
      case 'pair':
        return void this.codes.push(message.phoneNumber);
      case 'receipt':
        this.#waiting = this.#waiting.filter(({ key }) => !message.ids.includes(key.id));
        return undefined;
      case 'ask':
        return this.#answer(message.id);
      case 'message':
        return this.#accept(message);
      case 'presence':
        return void this.typing.push(message.jid);
      case 'download':
        return undefined;
    }
  }

  #greet(isLinked: boolean): void {
    if (!isLinked) return this.tell({ type: 'qr' });
    if (this.isRemoved)
      return this.tell({ type: 'close', status: 401, message: 'Connection Failure' });
    this.tell({ type: 'open' });
    if (this.#waiting.length > 0)
      this.tell({ type: 'messages', kind: 'append', messages: this.#waiting });
  }

  #answer(id: string): void {
    const [fault] = this.faults;
    if (fault?.kind === 'fail' || (fault?.kind === 'cut' && !fault.accepted)) this.faults.shift();
    if (fault?.kind === 'fail') return this.tell({ type: 'fail', id, status: fault.status });
    if (fault?.kind === 'cut' && !fault.accepted) return this.cut();
    this.tell({ type: 'ready', id });
  }

  #accept(message: Extract<FromDouble, { type: 'message' }>): void {
    const fault = this.faults.shift();
    const { id } = message;
    if (fault?.kind === 'refuse') return this.tell({ type: 'ack', id, error: fault.error });
    this.#keep(message);
    if (fault?.kind === 'cut') return this.cut();
    this.tell({ type: 'ack', id });
  }

  #keep({ id, jid, content, quoted }: Extract<FromDouble, { type: 'message' }>): void {
    const { text = '', edit, fileName = '', document, image } = content;
    const bytes = (document ?? image)?.$bytes;
    const contents = Buffer.from(bytes ?? '', 'base64');
    const file = bytes === undefined ? {} : { file: { name: fileName, contents } };
    const of = this.sent.findIndex((one) => one.id === edit?.id);
    if (of >= 0) this.sent[of] = { ...this.sent[of]!, text };
    else this.sent.push({ id, jid, text, ...file, ...(quoted === undefined ? {} : { quoted }) });
  }
}

/** What the phone has signed. */
export const credsOf = (number: string) => ({
  me: { id: `${number}:7@s.whatsapp.net`, lid: `9${number}:7@lid`, name: 'Relay' },
  account: { signature: 'of the phone' },
});

export type WhatsAppServer = {
  readonly url: string;
  readonly port: number;
  /** by the last part of their paths */
  readonly files: Map<string, Uint8Array>;
  addNumber(this: void): WhatsAppNumber;
  close(this: void): Promise<void>;
};

let numbers = 0;

export async function openWhatsAppServer(): Promise<WhatsAppServer> {
  const byNumber = new Map<string, WhatsAppNumber>();
  const files = new Map<string, Uint8Array>();
  const lines = new Set<Socket>();
  const server = createServer((line) => {
    lines.add(line.on('error', () => {}));
    let number: WhatsAppNumber | undefined;
    const messages = createInterface({ input: line }).on('error', () => {});
    messages.on('line', (text) => {
      const message = JSON.parse(text) as FromDouble;
      if (message.type === 'download') return sendFile(line, files, message.path);
      // a device that is not linked does not say whose it is
      if (message.type === 'hello')
        number =
          message.me === undefined
            ? [...byNumber.values()].at(-1)
            : byNumber.get(digits(message.me));
      number?.on(line, message);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `ws://127.0.0.1:${port}`,
    port,
    files,
    addNumber() {
      const added = new WhatsAppNumber(`8490000${String(++numbers).padStart(4, '0')}`);
      byNumber.set(added.number, added);
      return added;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const line of lines) line.destroy();
      }),
  };
}

const digits = (jid: string): string => jid.split(/[:@]/)[0] ?? '';

function sendFile(line: Socket, files: ReadonlyMap<string, Uint8Array>, path: string): void {
  const bytes = files.get(path.split('/').at(-1) ?? '');
  if (!bytes) return void line.destroy();
  const answer: FromServer = { type: 'file', data: Buffer.from(bytes).toString('base64') };
  line.write(`${JSON.stringify(answer)}\n`);
}
