/**
 * Very many low-cost WebSocket clients in a separate process: sockets of `node:net`, frames created
 * once, responses recognised by their first bytes. It measures in its own process and reports to
 * its parent.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** Concurrent handshakes: a gateway allows 32 per address. */
const OPENING_AT_ONCE = 16;
const UPGRADE =
  'GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: Upgrade\r\nupgrade: websocket\r\n' +
  'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';

export type ClientOrder =
  /** adds this number of clients; a non-empty `hello` is sent first, and its response awaited */
  | { readonly do: 'open'; readonly port: number; readonly count: number; readonly hello: string }
  /** the first `count` clients each send one request a second, spread over the second */
  | {
      readonly do: 'ask';
      readonly count: number;
      readonly seconds: number;
      readonly request: string;
    }
  /** from now on, times in events (`@` and epoch milliseconds) are compared with the clock */
  | { readonly do: 'watch' }
  | { readonly do: 'watched' };

/** A text frame of a client, with the mask zero. */
function clientFrame(text: string): Buffer {
  const payload = Buffer.from(text);
  const isLong = payload.length > 125;
  const header = Buffer.alloc(isLong ? 8 : 6);
  header[0] = 0x81;
  header[1] = 0x80 | (isLong ? 126 : payload.length);
  if (isLong) header.writeUInt16BE(payload.length, 2);
  return Buffer.concat([header, payload]);
}

/** One client. It examines frames one by one and keeps none of them. */
class Line {
  onFrame: ((frame: Buffer) => void) | undefined;
  readonly #socket: Socket;
  #rest: Buffer | undefined;
  #isUpgraded = false;

  constructor(socket: Socket) {
    this.#socket = socket.setNoDelay(true);
    socket.on('data', (bytes) => this.#read(bytes));
    socket.on('error', () => {});
    socket.on('close', () => process.send?.({ lost: true }));
  }

  write(bytes: Buffer | string): void {
    this.#socket.write(bytes);
  }

  #read(bytes: Buffer): void {
    let rest = this.#rest === undefined ? bytes : Buffer.concat([this.#rest, bytes]);
    this.#rest = undefined;
    if (!this.#isUpgraded) {
      const end = rest.indexOf('\r\n\r\n');
      if (end < 0) return void (this.#rest = rest);
      this.#isUpgraded = true;
      rest = rest.subarray(end + 4);
      this.onFrame?.(EMPTY);
    }
    for (;;) {
      const frame = frameOf(rest);
      if (frame === undefined) break;
      if (rest[0] === 0x89) this.#socket.write(PONG);
      else this.onFrame?.(rest.subarray(frame.from, frame.to));
      rest = rest.subarray(frame.to);
    }
    if (rest.length > 0) this.#rest = Buffer.from(rest);
  }
}

const EMPTY = Buffer.alloc(0);
const PONG = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);

function frameOf(bytes: Buffer): { from: number; to: number } | undefined {
  if (bytes.length < 2) return undefined;
  const short = bytes[1]! & 0x7f;
  const from = short === 127 ? 10 : short === 126 ? 4 : 2;
  if (bytes.length < from) return undefined;
  const length =
    short === 127 ? bytes.readUInt32BE(6) : short === 126 ? bytes.readUInt16BE(2) : short;
  return bytes.length < from + length ? undefined : { from, to: from + length };
}

/** The role of the process with the clients: executes one order after the other. */
export function serveSockets(): void {
  const lines: Line[] = [];
  const delays: number[] = [];
  process.on('message', (order: ClientOrder) => {
    void carryOut(order, lines, delays).then((answer) => process.send?.({ answer }));
  });
  process.on('disconnect', () => process.exit());
}

async function carryOut(order: ClientOrder, lines: Line[], delays: number[]): Promise<number[]> {
  if (order.do === 'open') return open(order, lines);
  if (order.do === 'ask') return asked(order, lines);
  if (order.do === 'watched') return delays;
  for (const line of lines) line.onFrame = (frame) => look(frame, delays);
  return [];
}

async function open({ port, count, hello }: ClientOrder & { do: 'open' }, lines: Line[]) {
  const frame = clientFrame(hello);
  let left = count;
  const lane = async () => {
    while (left-- > 0) {
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      const line = new Line(socket);
      line.write(UPGRADE);
      await nextFrame(line, (bytes) => bytes.length === 0);
      if (hello !== '') {
        line.write(frame);
        const answer = await nextFrame(line, (bytes) => bytes.subarray(0, 12).equals(ANSWER));
        if (!answer.includes('hello-ok')) throw new Error(`refused: ${answer.toString()}`);
      }
      line.onFrame = undefined;
      lines.push(line);
    }
  };
  await Promise.all(Array.from({ length: OPENING_AT_ONCE }, lane));
  return [lines.length];
}

/** Events of the gateway start with their sequence number. */
const EVENT = Buffer.from('{"seq":');
const ANSWER = Buffer.from('{"type":"res');

const nextFrame = (line: Line, fits: (frame: Buffer) => boolean): Promise<Buffer> =>
  new Promise((resolve) => {
    line.onFrame = (frame) => {
      if (fits(frame)) resolve(frame);
    };
  });

/** Milliseconds from each request to its response. */
async function asked(
  { count, seconds, request }: ClientOrder & { do: 'ask' },
  lines: readonly Line[],
): Promise<number[]> {
  const frame = clientFrame(request);
  const samples: number[] = [];
  const begun = performance.now();
  const total = count * seconds;
  let isWaiting = 0;
  for (let at = 0; at < total; ) {
    const due = Math.min(total, Math.floor(((performance.now() - begun) * count) / 1_000) + 1);
    for (; at < due; at++) {
      const line = lines[at % count]!;
      const sent = performance.now();
      isWaiting++;
      line.onFrame = (bytes) => {
        if (bytes.subarray(0, EVENT.length).equals(EVENT)) return;
        samples.push(performance.now() - sent);
        isWaiting--;
        line.onFrame = undefined;
      };
      line.write(frame);
    }
    await sleep(1);
  }
  for (const until = performance.now() + 10_000; isWaiting > 0; ) {
    if (performance.now() > until) throw new Error(`${isWaiting} requests have no answer`);
    await sleep(5);
  }
  return samples;
}

const CHAT = Buffer.from('"event":"chat"');
const NEWS = Buffer.from('"deltaText":"');

/** Every time in the new text of this delta, which is followed by the whole text. */
function look(frame: Buffer, delays: number[]): void {
  if (frame.indexOf(CHAT) < 0) return;
  const now = Date.now();
  const from = frame.indexOf(NEWS) + NEWS.length;
  const to = frame.indexOf('"', from);
  for (const time of frame.toString('latin1', from, to).split('@').slice(1)) {
    delays.push(now - Number.parseInt(time, 10));
  }
}

/** The handle of the clients in their parent. */
export class WebSocketClients {
  readonly #child: ChildProcess;
  /** connections that the other side has closed */
  lost = 0;

  constructor() {
    const [bundle = ''] = process.argv.slice(1);
    this.#child = spawn(process.execPath, [bundle, 'sockets'], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#child.on('message', (message: { lost?: true }) => {
      if (message.lost) this.lost++;
    });
  }

  order(order: ClientOrder): Promise<number[]> {
    return new Promise((resolve, reject) => {
      const receive = (message: { answer?: number[] }) => {
        if (message.answer === undefined) return;
        this.#child.off('message', receive);
        resolve(message.answer);
      };
      this.#child.on('message', receive);
      this.#child.once('exit', () => reject(new Error('the process with the clients ended')));
      this.#child.send(order);
    });
  }

  async stop(): Promise<void> {
    const gone = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await gone;
  }
}
