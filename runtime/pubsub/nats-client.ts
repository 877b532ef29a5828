/**
 * NatsClient: the other side of the public subjects: a program outside, as the conformance suite
 * plays it.
 */
import { errors, headers as newHeaders, type NatsConnection } from '@nats-io/transport-node';
import { TroupeError } from '../../protocols/errors.ts';
import { connectNats, type NatsOptions } from '../cluster/nats-connection.ts';

type Headers = Readonly<Record<string, string>>;
export type PublicReply = { readonly bytes: Uint8Array; readonly headers: Headers };

export class NatsClient {
  readonly #nc: NatsConnection;

  private constructor(nc: NatsConnection) {
    this.#nc = nc;
  }

  /** @throws TroupeError when the server refuses, or what `signal` aborted */
  static async open(options: NatsOptions): Promise<NatsClient> {
    return new NatsClient(await connectNats(options));
  }

  /** the largest message that the server accepts; undefined before it reported it */
  get bytesMax(): number | undefined {
    return this.#nc.info?.max_payload;
  }

  /** @throws TroupeError UNAVAILABLE without a subscriber, DEADLINE_EXCEEDED */
  async request(
    subject: string,
    bytes: Uint8Array,
    { timeoutMs, headers = {} }: { timeoutMs: number; headers?: Headers },
  ): Promise<PublicReply> {
    const fields = newHeaders();
    for (const [name, value] of Object.entries(headers)) fields.set(name, value);
    try {
      const reply = await this.#nc.request(subject, bytes, {
        timeout: timeoutMs,
        headers: fields,
        noMux: true,
      });
      const names = reply.headers?.keys() ?? [];
      const entries = names.map((name) => [name.toLowerCase(), reply.headers?.get(name) ?? '']);
      return { bytes: reply.data, headers: Object.fromEntries(entries) as Headers };
    } catch (cause) {
      if (cause instanceof errors.RequestError && cause.isNoResponders())
        throw new TroupeError('UNAVAILABLE', `no subscriber listens on ${subject}`, { cause });
      const message = `no answer on ${subject} within ${timeoutMs} ms`;
      throw new TroupeError('DEADLINE_EXCEEDED', message, { cause });
    }
  }

  /** Returns unsubscribe. */
  subscribe(pattern: string, onMessage: (bytes: Uint8Array) => void): () => void {
    const subscription = this.#nc.subscribe(pattern, {
      callback: (error, message) => {
        if (error === null) onMessage(message.data);
      },
    });
    return () => subscription.unsubscribe();
  }

  /** Resolves when the server has received everything sent before. */
  flush(): Promise<void> {
    return this.#nc.flush();
  }

  close(): Promise<void> {
    return this.#nc.close();
  }
}
