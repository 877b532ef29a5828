/**
 * A low-cost HTTP client for load: keep-alive sockets, requests written as bytes, responses read by
 * their Content-Length or in chunks. It supports no redirects.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export type Answer = {
  readonly status: number;
  readonly headers: string;
  readonly body: string;
  readonly ms: number;
};

type Waiting = {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (why: Error) => void;
  readonly sentAt: number;
};

const HEAD_END = Buffer.from('\r\n\r\n');

/** One socket; one request at a time. */
class Line {
  readonly #socket: Socket;
  #waiting: Waiting | undefined;
  #rest: Buffer = Buffer.alloc(0);

  constructor(socket: Socket) {
    this.#socket = socket.setNoDelay(true);
    socket.on('data', (bytes) => this.#read(bytes));
    socket.on('close', () => this.#waiting?.reject(new Error('the connection was closed')));
    socket.on('error', (error) => this.#waiting?.reject(error));
  }

  request(bytes: Buffer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject, sentAt: performance.now() };
      this.#socket.write(bytes);
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(bytes: Buffer): void {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    const headEnd = this.#rest.indexOf(HEAD_END);
    if (headEnd < 0) return;
    const head = this.#rest.toString('latin1', 0, headEnd);
    const from = headEnd + HEAD_END.length;
    const found = /transfer-encoding: chunked/i.test(head)
      ? chunksIn(this.#rest, from)
      : sizedBodyIn(this.#rest, from, Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0));
    if (!found) return;
    this.#rest = this.#rest.subarray(found.end);
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve({
      status: Number(head.slice(9, 12)),
      headers: head,
      body: found.body,
      ms: performance.now() - waiting.sentAt,
    });
  }
}

/** A body that has arrived completely, and where it ends. */
type Body = { readonly body: string; readonly end: number };

function sizedBodyIn(bytes: Buffer, from: number, length: number): Body | undefined {
  const end = from + length;
  return bytes.length < end ? undefined : { body: bytes.toString('utf8', from, end), end };
}

/** RFC 9112, section 7.1, without trailers. */
function chunksIn(bytes: Buffer, from: number): Body | undefined {
  const chunks: Buffer[] = [];
  for (let at = from; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
    const end = lineEnd + 2 + size + 2;
    if (bytes.length < end) return undefined;
    if (size === 0) return { body: Buffer.concat(chunks).toString('utf8'), end };
    chunks.push(bytes.subarray(lineEnd + 2, end - 2));
    at = end;
  }
}

export class HttpLoad {
  readonly #lines: Line[];
  readonly #free: Line[];
  readonly #queue: ((line: Line) => void)[] = [];

  private constructor(lines: Line[]) {
    this.#lines = lines;
    this.#free = [...lines];
  }

  static async open(port: number, connections: number): Promise<HttpLoad> {
    const lines = Array.from({ length: connections }, async () => {
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      return new Line(socket);
    });
    return new HttpLoad(await Promise.all(lines));
  }

  /** Waits for a free connection. The measured time starts when the request is sent. */
  async request(bytes: Buffer): Promise<Answer> {
    const line =
      this.#free.pop() ?? (await new Promise<Line>((resolve) => this.#queue.push(resolve)));
    try {
      return await line.request(bytes);
    } finally {
      const next = this.#queue.shift();
      if (next) next(line);
      else this.#free.push(line);
    }
  }

  close(): void {
    for (const line of this.#lines) line.close();
  }
}

/** A request as bytes. */
export function requestOf(
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines.join('')}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}
