/**
 * A local WhatsApp Cloud API: sends of text and files, reads with typing, files, and webhook posts
 * that are signed with the app's secret and repeated until they are answered with 200.
 */
import { createHmac, randomUUID } from 'node:crypto';
import {
  type Answer,
  type FaultyServer,
  json,
  openFaultyServer,
  type Received,
} from './http-faults.ts';
import { formOf, type SentFile, sentFileOf } from './forms.ts';

export type Sent = {
  readonly id: string;
  readonly to: string;
  readonly text: string;
  readonly replyTo?: string;
  readonly data?: string;
  readonly file?: SentFile & { readonly kind: string };
};

let numbers = 0;

/** One number, with its webhook. */
export class WhatsAppNumber {
  readonly phoneNumberId = String(1000 + ++numbers);
  readonly display = `1555000${1000 + numbers}`;
  readonly accessToken = `EAA-secret-${numbers}`;
  readonly appSecret = `app-secret-${numbers}`;
  readonly sent: Sent[] = [];
  readonly typing: string[] = [];
  readonly files = new Map<string, Buffer>();
  /** by id */
  readonly uploads = new Map<string, SentFile>();
  isRevoked = false;
  /** whether posts name the status of each sent message */
  hasStatuses = false;
  hookUrl: string | undefined;
  repeatMs = 20;
  #isOpen = true;
  #last: object | undefined;
  #queue = Promise.resolve();

  /** A person writes. Returns the id of the message. */
  write(from: string, text: string, more: object = {}): string {
    return this.message(from, { type: 'text', text: { body: text }, ...more });
  }

  message(from: string, content: object): string {
    const id = `wamid.${randomUUID()}`;
    const timestamp = String(Math.floor(Date.now() / 1000));
    const messages = [{ from, id, timestamp, ...content }];
    this.post({ contacts: [{ profile: { name: 'P' }, wa_id: from }], messages });
    return id;
  }

  status(sent: Sent, status: string, errors?: readonly object[]): void {
    const { id, data: biz_opaque_callback_data } = sent;
    this.post({
      statuses: [{ id, status, recipient_id: sent.to, biz_opaque_callback_data, errors }],
    });
  }

  /** Queues a post; one after another, each until it is accepted. */
  post(value: object): void {
    this.#last = value;
    this.#queue = this.#queue.then(() => this.#deliver(JSON.stringify(this.bodyOf(value))));
  }

  postLastAgain(): void {
    this.post(this.#last!);
  }

  bodyOf(value: object, phone_number_id = this.phoneNumberId) {
    const metadata = { display_phone_number: this.display, phone_number_id };
    const change = {
      field: 'messages',
      value: { messaging_product: 'whatsapp', metadata, ...value },
    };
    return { object: 'whatsapp_business_account', entry: [{ id: 'WABA', changes: [change] }] };
  }

  signed(body: string): Record<string, string> {
    const signature = createHmac('sha256', this.appSecret).update(body).digest('hex');
    return { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` };
  }

  close(): void {
    this.#isOpen = false;
  }

  async #deliver(body: string): Promise<void> {
    while (this.#isOpen && this.hookUrl !== undefined && !(await this.#isAccepted(body)))
      await new Promise((resolve) => setTimeout(resolve, this.repeatMs));
  }

  async #isAccepted(body: string): Promise<boolean> {
    const request = { method: 'POST', headers: this.signed(body), body };
    const response = await fetch(this.hookUrl!, request).catch(() => undefined);
    await response?.body?.cancel();
    return response?.status === 200;
  }
}

export type WhatsAppServer = FaultyServer & { addNumber(): WhatsAppNumber };

export async function openWhatsAppServer(): Promise<WhatsAppServer> {
  const all: WhatsAppNumber[] = [];
  const server = await openFaultyServer((request) => {
    const token = /^Bearer (.+)$/.exec(request.header('authorization') ?? '')?.[1];
    const number = all.find(({ accessToken }) => accessToken === token);
    if (number === undefined || number.isRevoked)
      return failure(401, 190, 'Error validating access token: The session was invalidated.');
    return serve(number, request, server.url);
  });
  return {
    ...server,
    addNumber() {
      const number = new WhatsAppNumber();
      all.push(number);
      return number;
    },
    async close() {
      for (const number of all) number.close();
      await server.close();
    },
  };
}

/** An error as the Graph API answers it. */
const failure = (status: number, code: number, message: string): Answer =>
  json(status, { error: { message, type: 'OAuthException', code, fbtrace_id: 'x' } });

export const failureBody = (code: number, message: string): string =>
  failure(400, code, message).body as string;

async function serve(
  number: WhatsAppNumber,
  { method, url, header, body }: Received,
  origin: string,
): Promise<Answer> {
  const path = url.pathname.replace(/^\/v\d+\.\d+\//, '');
  const file = number.files.get(path.replace(/^\/?files\//, ''));
  if (method === 'POST' && path === `${number.phoneNumberId}/messages`)
    return accept(number, JSON.parse(body.toString()));
  if (method === 'POST' && path === `${number.phoneNumberId}/media`)
    return upload(number, await formOf(header('content-type') ?? '', body));
  if (path === number.phoneNumberId)
    return json(200, { id: path, display_phone_number: number.display, verified_name: 'Shop' });
  if (file === undefined) return failure(400, 100, 'Object does not exist');
  if (url.pathname.startsWith('/files/')) return { status: 200, body: file };
  const address = `${origin}/files/${path}`;
  return json(200, { url: address, mime_type: 'x/y', file_size: file.length, id: path });
}

type Media = { readonly id: string; readonly filename?: string };
type Message = {
  readonly type?: string;
  readonly to?: string;
  readonly recipient?: string;
  readonly text?: { readonly body: string };
  readonly document?: Media;
  readonly image?: Media;
  readonly audio?: Media;
  readonly video?: Media;
  readonly context?: { readonly message_id: string };
  readonly biz_opaque_callback_data?: string;
  readonly status?: string;
  readonly message_id?: string;
};

const TYPES = /^(?:text\/plain|application\/pdf|image\/(?:jpeg|png)|audio\/mpeg|video\/mp4)$/;

async function upload(number: WhatsAppNumber, form: FormData): Promise<Answer> {
  const file = form.get('file');
  if (!(file instanceof File) || !TYPES.test(file.type) || form.get('type') !== file.type)
    return failure(400, 100, 'Param file must be a file with one of the following types: …');
  const id = randomUUID();
  number.uploads.set(id, await sentFileOf(file));
  return json(200, { id });
}

function fileOf(number: WhatsAppNumber, message: Message): Sent['file'] | Answer | undefined {
  const { type: kind = 'text' } = message;
  if (kind === 'text') return undefined;
  const media = message[kind as 'document'];
  const file = number.uploads.get(media?.id ?? '');
  if (!file) return failure(400, 131009, 'Parameter value is not valid');
  return { kind, name: media?.filename ?? file.name, contents: file.contents };
}

function accept(number: WhatsAppNumber, message: Message): Answer {
  if (message.status === 'read') {
    number.typing.push(message.message_id ?? '');
    return json(200, { success: true });
  }
  const to = message.to ?? message.recipient ?? '';
  const text = message.text?.body ?? '';
  if (text.length > 4_096) return failure(400, 100, 'Param text[body] must be at most 4096');
  const file = fileOf(number, message);
  if (file && 'status' in file) return file;
  const sent: Sent = {
    id: `wamid.${randomUUID()}`,
    to,
    text,
    ...(file && { file }),
    ...(message.context && { replyTo: message.context.message_id }),
    ...(message.biz_opaque_callback_data && { data: message.biz_opaque_callback_data }),
  };
  number.sent.push(sent);
  if (number.hasStatuses) number.status(sent, 'sent');
  const contacts = [{ input: to, wa_id: to }];
  return json(200, { messaging_product: 'whatsapp', contacts, messages: [{ id: sent.id }] });
}
