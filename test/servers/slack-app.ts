/**
 * One app of the local Slack (slack-server.ts) in one workspace: its channels, its events, and how
 * they are delivered: each to any one of its sockets or to its request URL, again until it is
 * acknowledged, in no order that is guaranteed across sockets.
 */
import { createHmac, randomUUID } from 'node:crypto';
import type { WebSocket } from 'ws';
import type { SentFile } from './forms.ts';

export type Posted = {
  readonly ts: string;
  readonly channel: string;
  readonly thread_ts?: string;
  readonly user: string;
  text: string;
  readonly metadata?: unknown;
  readonly files?: readonly (SentFile & { readonly id: string })[];
};
export type SlackEvent = { readonly type: string } & Readonly<Record<string, unknown>>;
type Delivery = {
  readonly eventId: string;
  readonly event: SlackEvent;
  attempts: number;
  /** the socket that it was last sent to */
  socket?: WebSocket;
  readonly envelopeIds: Set<string>;
};

let apps = 0;
let clock = 1_700_000_000_000_000;
const nextTs = () => {
  clock = Math.max(clock + 1, Date.now() * 1000);
  return `${Math.floor(clock / 1e6)}.${String(clock % 1e6).padStart(6, '0')}`;
};

export class SlackApp {
  readonly number = ++apps;
  readonly botToken = `xoxb-secret-${this.number}`;
  readonly appToken = `xapp-secret-${this.number}`;
  readonly signingSecret = `signing-secret-${this.number}`;
  readonly user = `UBOT${this.number}`;
  readonly team = `T${this.number}`;
  readonly channels = new Set(['D1', 'C1', 'C2']);
  /** what people and the app have posted */
  readonly posted: Posted[] = [];
  readonly files = new Map<string, Buffer>();
  /** by id: files that are uploaded and not posted yet; without contents before the upload */
  readonly uploads = new Map<string, Partial<SentFile>>();
  readonly sockets = new Set<WebSocket>();
  /** most sockets that were open at once */
  socketsSeen = 0;
  /** sockets that were ever accepted */
  connections = 0;
  /** ids of acknowledged events, in the order of their acknowledgements */
  readonly acknowledged: string[] = [];
  scopes = 'chat:write,im:history,channels:history,files:read,files:write,metadata.message:read';
  isRevoked = false;
  /** connections get no `hello` */
  isMute = false;
  isSocketModeOff = false;
  socketsMax = 10;
  /** events go to this URL instead of the sockets */
  requestUrl: string | undefined;
  /** an event is delivered again after this time; Slack waits 3 s */
  ackMs = 100;
  readonly #deliveries = new Set<Delivery>();
  #next = 0;
  #last: SlackEvent | undefined;

  /** A person writes. Returns the `ts`. */
  write(channel: string, text: string, more: Readonly<Record<string, unknown>> = {}): string {
    const ts = nextTs();
    const channel_type = channel.startsWith('D') ? 'im' : 'channel';
    const event = { type: 'message', channel, channel_type, user: 'U42', text, ts, ...more };
    this.posted.push({ ts, channel, user: 'U42', text });
    this.emit(event);
    return ts;
  }

  /** @param eventId as Slack repeats an event: the same id */
  emit(event: SlackEvent, eventId = `Ev${randomUUID()}`): void {
    this.#last = event;
    const delivery: Delivery = { eventId, event, attempts: 0, envelopeIds: new Set() };
    this.#deliveries.add(delivery);
    this.#deliver(delivery);
  }

  /** The same message as another event. */
  emitLastAgain(): void {
    this.emit(this.#last!);
  }

  post(channel: string, text: string, thread_ts?: string, metadata?: unknown): Posted {
    const message: Posted = {
      ts: nextTs(),
      channel,
      user: this.user,
      text: text.slice(0, 40_000),
      ...(thread_ts === undefined ? {} : { thread_ts }),
      ...(metadata === undefined ? {} : { metadata }),
    };
    this.posted.push(message);
    return message;
  }

  /** The message of an uploaded file, which has no metadata. Slack does not answer its `ts`. */
  share(channel: string, id: string, title: string, thread_ts?: string): void {
    const { contents = Buffer.alloc(0) } = this.uploads.get(id) ?? {};
    this.uploads.delete(id);
    this.posted.push({
      ts: nextTs(),
      channel,
      user: this.user,
      text: '',
      files: [{ id, name: title, contents }],
      ...(thread_ts === undefined ? {} : { thread_ts }),
    });
  }

  /** What is shown in a channel or thread, of the app. */
  shown(channel: string, thread_ts?: string): readonly Posted[] {
    return this.posted.filter(
      (one) => one.channel === channel && one.thread_ts === thread_ts && one.user === this.user,
    );
  }

  // ---- sockets

  accept(socket: WebSocket): void {
    if (this.isSocketModeOff) return this.#refuse(socket, 'link_disabled');
    if (this.sockets.size >= this.socketsMax) return this.#refuse(socket, 'too_many_websockets');
    this.sockets.add(socket);
    this.connections += 1;
    this.socketsSeen = Math.max(this.socketsSeen, this.sockets.size);
    socket.on('close', () => this.#closed(socket));
    socket.on('message', (text) => this.#acknowledge(JSON.parse((text as Buffer).toString())));
    if (this.isMute) return;
    const num_connections = this.sockets.size;
    const connection_info = { app_id: `A${this.number}` };
    socket.send(JSON.stringify({ type: 'hello', num_connections, connection_info }));
    for (const delivery of this.#deliveries)
      if (delivery.socket === undefined) this.#deliver(delivery);
  }

  disconnect(reason: string): void {
    for (const socket of this.sockets) socket.send(JSON.stringify({ type: 'disconnect', reason }));
  }

  /** The connections end without a message. */
  cut(): void {
    for (const socket of this.sockets) socket.terminate();
  }

  revoke(): void {
    this.isRevoked = true;
    this.cut();
  }

  close(): void {
    this.#deliveries.clear();
    this.cut();
  }

  #refuse(socket: WebSocket, reason: string): void {
    socket.send(JSON.stringify({ type: 'disconnect', reason }));
    socket.close(1000);
  }

  #closed(socket: WebSocket): void {
    this.sockets.delete(socket);
    for (const delivery of this.#deliveries)
      if (delivery.socket === socket) this.#deliver(delivery);
  }

  #acknowledge({ envelope_id }: { envelope_id: string }): void {
    for (const delivery of this.#deliveries)
      if (delivery.envelopeIds.has(envelope_id)) this.#done(delivery);
  }

  #done(delivery: Delivery): void {
    if (this.#deliveries.delete(delivery)) this.acknowledged.push(delivery.eventId);
  }

  // ---- deliveries

  #deliver(delivery: Delivery): void {
    if (!this.#deliveries.has(delivery)) return;
    if (this.requestUrl !== undefined) return void this.#request(delivery, this.requestUrl);
    const open = [...this.sockets];
    const socket = open[this.#next++ % Math.max(open.length, 1)];
    if (socket === undefined) {
      delete delivery.socket;
      return;
    }
    delivery.socket = socket;
    const envelope_id = randomUUID();
    delivery.envelopeIds.add(envelope_id);
    socket.send(
      JSON.stringify({
        type: 'events_api',
        envelope_id,
        retry_attempt: delivery.attempts++,
        retry_reason: '',
        accepts_response_payload: false,
        payload: this.payloadOf(delivery),
      }),
    );
    setTimeout(() => {
      if (delivery.socket === socket) this.#deliver(delivery);
    }, this.ackMs).unref();
  }

  payloadOf({ eventId, event }: { eventId: string; event: SlackEvent }) {
    return {
      type: 'event_callback',
      team_id: this.team,
      api_app_id: `A${this.number}`,
      event_id: eventId,
      event_time: Math.floor(Date.now() / 1000),
      event,
      authorizations: [{ user_id: this.user, is_bot: true }],
    };
  }

  /** Headers of a request from Slack. */
  signed(body: string, timestamp = String(Math.floor(Date.now() / 1000))): Record<string, string> {
    const hmac = createHmac('sha256', this.signingSecret).update(`v0:${timestamp}:${body}`);
    return {
      'content-type': 'application/json',
      'x-slack-request-timestamp': timestamp,
      'x-slack-signature': `v0=${hmac.digest('hex')}`,
    };
  }

  async #request(delivery: Delivery, url: string): Promise<void> {
    const body = JSON.stringify(this.payloadOf(delivery));
    const response = await fetch(url, { method: 'POST', headers: this.signed(body), body }).catch(
      () => undefined,
    );
    await response?.body?.cancel();
    if (response?.ok) return this.#done(delivery);
    setTimeout(() => this.#deliver(delivery), this.ackMs).unref();
  }
}
