/**
 * The remote agents of a configuration (`tools.a2a.agents`): their cards, checked and cached, and
 * clients for them.
 *
 * Invariants:
 *  1. A card is used only if its signature fits: it is signed by the known key when there is one,
 *     unsigned only while there is none and the configuration allows it, and never wrongly signed.
 *  2. The first signed card sets the key, unless the configuration has one.
 *  3. A card whose time is over is asked for again by its ETag; when its agent does not answer, it
 *     is used for a week.
 */
import type { AgentCard, AgentInterface } from '@a2a-js/sdk';
import type { Client } from '@a2a-js/sdk/client';
import { defined } from '../../protocols/defined.ts';
import { errorData, isFinalCode, TroupeError } from '../../protocols/errors.ts';
import type { RemoteAgentConfig } from '../../runtime/config/index.ts';
import type { Clock } from '../../runtime/index.ts';
import { CARD_BYTES_MAX, cardUrlOf, interfaceOf, parseCard } from './card.ts';
import { signersOf } from './card-signature.ts';
import type { CardStore, StoredCard } from './card-store.ts';
import { type HttpAnswer, RemoteHttp } from './remote-http.ts';

const FRESH_MS = { default: 300_000, min: 60_000, max: 24 * 3_600_000 };
const STALE_MS_MAX = 7 * 24 * 3_600_000;
const ETAG_CHARACTERS_MAX = 500;

/** In place of a key in the configuration: no key is kept. */
export const NO_KEY = 'none';

export type KnownCard = {
  readonly card: AgentCard;
  /** thumbprints of the keys that have signed it; []: it has no signature */
  readonly signers: readonly string[];
  /** the key that must sign it; absent: none is known */
  readonly key?: string;
  /** where calls go */
  readonly interface: AgentInterface;
};

export type DirectoryOptions = {
  readonly agents: Readonly<Record<string, RemoteAgentConfig>>;
  readonly store: CardStore;
  readonly clock: Clock;
};

type Held = { readonly stored: StoredCard; readonly card: AgentCard };

export class RemoteAgents {
  readonly #o: DirectoryOptions;
  readonly #held = new Map<string, Held>();
  readonly #https = new Map<string, RemoteHttp>();

  constructor(options: DirectoryOptions) {
    this.#o = options;
  }

  names(): readonly string[] {
    return Object.keys(this.#o.agents);
  }

  /** @throws TroupeError NOT_FOUND */
  configOf(name: string): RemoteAgentConfig {
    const { agents } = this.#o;
    if (Object.hasOwn(agents, name)) return agents[name]!;
    const known = Object.keys(agents).join(', ') || 'none';
    throw new TroupeError('NOT_FOUND', `there is no A2A agent ${name}; known: ${known}`);
  }

  /** @throws TroupeError NOT_FOUND */
  httpOf(name: string): RemoteHttp {
    const known = this.#https.get(name);
    if (known) return known;
    const http = new RemoteHttp(name, this.configOf(name));
    this.#https.set(name, http);
    return http;
  }

  /**
   * The card of an agent, which may be used.
   * @throws TroupeError NOT_FOUND; FORBIDDEN when its signature or its origins do not fit;
   *   INVALID_ARGUMENT, UNAVAILABLE, DEADLINE_EXCEEDED, PAYLOAD_TOO_LARGE
   */
  async card(name: string, signal: AbortSignal): Promise<KnownCard> {
    const agent = this.configOf(name);
    const { card, stored } = await this.#current(name, agent, signal);
    const key = await this.#keyFor(name, agent, stored.signers);
    const http = this.httpOf(name);
    const chosen = interfaceOf(card, {
      name,
      allows: (url) => http.allows(url),
      isLegacy: agent.legacy,
    });
    return { card, signers: stored.signers, interface: chosen, ...defined({ key }) };
  }

  /** @throws TroupeError as `card` */
  async client(name: string, signal: AbortSignal): Promise<Client> {
    const known = await this.card(name, signal);
    const sdk = await import('@a2a-js/sdk/client');
    const { fetch: fetchImpl } = this.httpOf(name);
    const legacyCompat = { enabled: this.configOf(name).legacy };
    const factory = new sdk.ClientFactory({
      transports: [
        new sdk.JsonRpcTransportFactory({ fetchImpl, legacyCompat }),
        new sdk.RestTransportFactory({ fetchImpl, legacyCompat }),
      ],
    });
    return factory.createFromAgentCard({ ...known.card, supportedInterfaces: [known.interface] });
  }

  async #current(name: string, agent: RemoteAgentConfig, signal: AbortSignal): Promise<Held> {
    const url = cardUrlOf(agent.url);
    const held = this.#held.get(url.href) ?? (await this.#fromStore(name, agent, url));
    const now = this.#o.clock.wallMs();
    const ageMs = held ? now - held.stored.checkedAt : Infinity;
    const fits =
      agent.key === undefined || agent.key === NO_KEY || held?.stored.signers.includes(agent.key);
    if (held && fits && ageMs >= 0 && ageMs < held.stored.freshMs) return held;
    try {
      return await this.#fetch(url, held, { name, agent, http: this.httpOf(name), signal });
    } catch (error) {
      const passes = !isFinalCode(errorData(error).code) && !signal.aborted;
      if (held && passes && ageMs < STALE_MS_MAX) return held;
      throw error;
    }
  }

  async #fromStore(name: string, agent: RemoteAgentConfig, url: URL): Promise<Held | undefined> {
    const stored = await this.#o.store.load(url.href);
    if (!stored) return undefined;
    const held = { stored, card: await parseCard(stored.text, name, agent.legacy) };
    this.#held.set(url.href, held);
    return held;
  }

  async #fetch(
    url: URL,
    held: Held | undefined,
    by: Parameters<typeof signersOf>[1],
  ): Promise<Held> {
    const etag = held?.stored.etag;
    const answer = await by.http.get(url, {
      signal: by.signal,
      bytesMax: CARD_BYTES_MAX,
      headers: {
        accept: 'application/json',
        'a2a-version': '1.0',
        ...defined({ 'if-none-match': etag }),
      },
    });
    const checked = { freshMs: freshMsOf(answer), checkedAt: this.#o.clock.wallMs() };
    const next =
      answer.status === 304 && held
        ? { card: held.card, stored: { ...held.stored, ...checked } }
        : await received(answer, checked, by);
    await this.#keyFor(by.name, by.agent, next.stored.signers);
    this.#held.set(url.href, next);
    await this.#o.store.save(url.href, next.stored);
    return next;
  }

  /** Invariants 1 and 2. @throws TroupeError FORBIDDEN */
  async #keyFor(
    name: string,
    agent: RemoteAgentConfig,
    signers: readonly string[],
  ): Promise<string | undefined> {
    const { store } = this.#o;
    const url = cardUrlOf(agent.url).href;
    const [first] = signers;
    if (first === undefined && agent.requireSignature) {
      const message = `the card of ${name} is not signed, and the configuration requires a signature`;
      throw new TroupeError('FORBIDDEN', message);
    }
    if (agent.key === NO_KEY) return undefined;
    const known = agent.key ?? (await store.pinned(url));
    if (known === undefined && first === undefined) return undefined;
    const key = known ?? (await store.pin(url, first!));
    if (signers.includes(key)) return key;
    const what =
      first === undefined ? 'is not signed any more' : `is signed by another key, ${first}`;
    throw new TroupeError(
      'FORBIDDEN',
      `the card of ${name} ${what}; the known key is ${key}. Ask its operator; if the change is right, run: troupe a2a trust ${name}`,
    );
  }
}

async function received(
  { body, headers }: HttpAnswer,
  checked: Pick<StoredCard, 'freshMs' | 'checkedAt'>,
  by: Parameters<typeof signersOf>[1],
): Promise<Held> {
  const text = body.toString();
  const card = await parseCard(text, by.name, by.agent.legacy);
  const signers = await signersOf(card, by);
  const { etag } = headers;
  const usable = etag !== undefined && etag.length <= ETAG_CHARACTERS_MAX ? { etag } : {};
  return { card, stored: { text, signers, ...usable, ...checked } };
}

/** `max-age`, within limits. */
function freshMsOf({ headers }: HttpAnswer): number {
  const control = headers['cache-control'] ?? '';
  const seconds = /\bmax-age=(\d{1,9})\b/i.exec(control)?.[1];
  if (/\bno-(cache|store)\b/i.test(control)) return FRESH_MS.min;
  if (seconds === undefined) return FRESH_MS.default;
  return Math.min(FRESH_MS.max, Math.max(FRESH_MS.min, Number(seconds) * 1_000));
}
