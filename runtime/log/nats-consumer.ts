/**
 * NatsConsumer: the life of one JetStream consumer, from the first pull to the first anomaly. It
 * implements the pull protocol (NATS ADR-13, ADR-37; delivery subjects of ADR-15): one pull is open
 * at a time, so only requested entries arrive.
 *
 * Invariant: `onEntry` receives a gapless sequence of what the consumer delivered. Anything else (a
 * skipped delivery number, a heartbeat that reports more, silence, a lost connection) ends it:
 * `onAnomaly` is called once, and nothing after it. It repairs nothing; its reader starts another
 * consumer.
 */
import { createInbox, type Msg, type Subscription } from '@nats-io/transport-node';
import type { Position } from './log.ts';
import type { NatsLink } from './nats-link.ts';
import { sendSoon } from './nats-sends.ts';

export type Delivered = {
  readonly position: Position;
  readonly logTimeMs: number;
  /** entries behind this one that were not delivered yet */
  readonly pending: number;
  readonly message: Msg;
};

export type NatsConsumerOptions = {
  readonly link: NatsLink;
  readonly stream: string;
  readonly consumer: string;
  readonly onEntry: (entry: Delivered) => void;
  /** the pull has ended and another one may be made */
  readonly onIdle: () => void;
  readonly onAnomaly: (why: string) => void;
};

/** How long a pull waits at the server, which sends heartbeats in the meantime. */
const EXPIRES_MS = 30_000;
const HEARTBEAT_MS = 2_000;
/** Two heartbeats and a half are missing. */
const SILENCE_MS = 5_000;
/** The server removes a consumer without pulls after this time. */
export const INACTIVE_MS = 60_000;
const NANOS = 1_000_000;

const STATUS = { heartbeat: 100, noMessages: 404, pullEnded: 408, conflict: 409 };

export class NatsConsumer {
  readonly #o: NatsConsumerOptions;
  readonly #inbox: string;
  readonly #subscription: Subscription;
  readonly #unwatch: () => void;
  readonly #watchdog: NodeJS.Timeout;
  /** delivery number of the last entry */
  #delivered = 0;
  /** pulls so far: the last one's number, under which the server speaks of it */
  #pulls = 0;
  /** entries the open pull may still bring; 0: none is open */
  #left = 0;
  #receivedAtMs = performance.now();
  #ended = false;

  constructor(options: NatsConsumerOptions) {
    this.#o = options;
    const { nc } = options.link;
    this.#inbox = createInbox();
    this.#subscription = nc.subscribe(`${this.#inbox}.*`, {
      callback: (error, message) => {
        if (error) this.#anomaly(error.message);
        else this.#onMessage(message);
      },
    });
    this.#unwatch = options.link.watch(() => this.#anomaly('the connection was lost'));
    this.#watchdog = setInterval(() => this.#listen(), HEARTBEAT_MS);
    this.#watchdog.unref();
  }

  get pulling(): boolean {
    return this.#left > 0;
  }

  /** Requests at most this number of entries; the pull ends before it would exceed the bytes. */
  pull(entriesMax: number, bytesMax: number): void {
    if (this.#ended) return;
    const now = performance.now();
    if (now - this.#receivedAtMs > INACTIVE_MS / 2)
      return this.#anomaly('not pulled from for long');
    this.#receivedAtMs = now;
    this.#left = entriesMax;
    this.#pulls += 1;
    const { link, stream, consumer } = this.#o;
    const request = {
      batch: entriesMax,
      max_bytes: bytesMax,
      expires: EXPIRES_MS * NANOS,
      idle_heartbeat: HEARTBEAT_MS * NANOS,
    };
    const reply = `${this.#inbox}.${this.#pulls}`;
    sendSoon(link.nc, () => {
      if (this.#ended) return;
      try {
        const subject = `$JS.API.CONSUMER.MSG.NEXT.${stream}.${consumer}`;
        link.nc.publish(subject, JSON.stringify(request), { reply });
      } catch (error) {
        this.#anomaly(String(error));
      }
    });
  }

  /** Ends all calls. May be repeated. */
  end(): void {
    this.#ended = true;
    clearInterval(this.#watchdog);
    this.#unwatch();
    this.#subscription.unsubscribe();
  }

  #onMessage(message: Msg): void {
    if (this.#ended) return;
    this.#receivedAtMs = performance.now();
    const delivery = message.reply === undefined ? undefined : parseDelivery(message.reply);
    if (delivery === undefined) return this.#status(message);
    if (delivery.number !== this.#delivered + 1)
      return this.#anomaly(`delivery ${delivery.number} came after ${this.#delivered}`);
    this.#delivered = delivery.number;
    this.#left -= 1;
    this.#o.onEntry({ ...delivery, message });
    if (!this.#ended && this.#left === 0) this.#o.onIdle();
  }

  /** What the server says of a pull: that it still waits, that it ended, or that it cannot be. */
  #status({ subject, headers }: Msg): void {
    const code = headers?.code ?? 0;
    const text = headers?.description ?? '';
    if (code === STATUS.heartbeat) {
      const delivered = Number(headers?.get('Nats-Last-Consumer') ?? 0);
      if (delivered > this.#delivered)
        this.#anomaly(`the server delivered ${delivered}, ${this.#delivered} came`);
      return;
    }
    const ended =
      code === STATUS.noMessages ||
      code === STATUS.pullEnded ||
      (code === STATUS.conflict && /maxbytes|batch completed/i.test(text));
    if (!ended) return this.#anomaly(`the server says ${code} ${text}`);
    // Newer servers also report a pull that delivered everything, when the next one is open.
    if (subject !== `${this.#inbox}.${this.#pulls}`) return;
    this.#left = 0;
    this.#o.onIdle();
  }

  #listen(): void {
    if (this.pulling && performance.now() - this.#receivedAtMs > SILENCE_MS)
      this.#anomaly('no heartbeat came');
  }

  #anomaly(why: string): void {
    if (this.#ended) return;
    this.end();
    this.#o.onAnomaly(why);
  }
}

/**
 * `$JS.ACK.{stream}.{consumer}.{times}.{position}.{number}.{nanoseconds}.{pending}`; with a domain
 * and an account behind `ACK` where those are in use, and perhaps more behind `pending` (ADR-15).
 */
const parseDelivery = (reply: string) => {
  const tokens = reply.split('.');
  if (tokens[0] !== '$JS' || tokens[1] !== 'ACK') return undefined;
  const at = tokens.length === 9 ? 5 : 7;
  return {
    position: Number(tokens[at]),
    number: Number(tokens[at + 1]),
    logTimeMs: Number(tokens[at + 2]!.slice(0, -6)),
    pending: Number(tokens[at + 3]),
  };
};
