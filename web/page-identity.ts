/**
 * PageIdentity: as what the page connects. With the secret alone where that is enough; as a device,
 * with a key that stays in this browser, where the gateway requires one
 * (`gateway.auth.deviceIdentity`). The browser remembers that it was admitted as a device, and the
 * token that the gateway gave it.
 */
import type { Challenge, ConnectionState } from './gateway-client.ts';
import { type Identity, openIdentity, proofOf, type Unable, UnableError } from './identity.ts';
import type { Keep } from './kept.ts';
import { Store } from './store.ts';
import { strings } from './strings.ts';

/** A person's client, with all that its secret allows. */
const INTRODUCED = {
  client: {
    id: 'webchat-ui',
    displayName: 'troupe page',
    version: '1.0.0',
    platform: 'web',
    mode: 'webchat',
  },
  role: 'operator',
  scopes: [
    'operator.read',
    'operator.write',
    'operator.approvals',
    'operator.pairing',
    'operator.admin',
  ],
};
const CAPS = ['tool-events'];

/** Where the device's token is kept; empty when it has none. Missing: never admitted as a device */
const DEVICE_NAME = 'troupe.page.device';
/** While a person has to approve the page, it asks this often whether somebody did. */
const ASK_AGAIN_MS = 3_000;

type Refused = Extract<ConnectionState, { kind: 'refused' }>;

/** What the page does about a refusal: tries again after so long, and shows this meanwhile. */
export type Reaction = { readonly againMs?: number; readonly show?: Refused };

export class PageIdentity {
  readonly #secret: string;
  readonly #keep: Keep;
  #identity: Identity | undefined;
  /** whether the next hello is sent with the secret alone; undefined: not tried yet */
  #isPlain: boolean | undefined;

  constructor(secret: string, keep: Keep) {
    this.#secret = secret;
    this.#keep = keep;
  }

  /** For the hello of one connection. */
  async introduce(challenge: Challenge): Promise<object> {
    const said = { ...INTRODUCED, caps: CAPS };
    const kept = this.#keep.getItem(DEVICE_NAME);
    // Without its key the page is a stranger and says so by the gateway's refusal.
    if (kept !== null) await this.#open();
    if (this.#identity === undefined || this.#isPlain) return said;
    const own = this.#secret === '' ? kept || undefined : undefined;
    const device = await proofOf(this.#identity, INTRODUCED, own ?? this.#secret, challenge);
    return { ...said, device, ...(own === undefined ? {} : { auth: { deviceToken: own } }) };
  }

  /** The gateway admitted the page. */
  admitted({ hello }: Extract<ConnectionState, { kind: 'online' }>): void {
    if (this.#identity === undefined || this.#isPlain) return;
    const { deviceToken = this.#keep.getItem(DEVICE_NAME) ?? '' } = hello.auth;
    this.#keep.setItem(DEVICE_NAME, deviceToken);
  }

  /** Never rejects. */
  async refused(state: Refused): Promise<Reaction> {
    const { code } = state;
    if (code === 'PAIRING_REQUIRED') return this.#unpaired(state);
    if (code === 'DEVICE_IDENTITY_REQUIRED' && this.#isPlain) {
      this.#isPlain = false;
      return { againMs: 0 };
    }
    if (code === 'AUTH_DEVICE_TOKEN_MISMATCH') this.#keep.setItem(DEVICE_NAME, '');
    if (code !== 'DEVICE_IDENTITY_REQUIRED' || this.#identity !== undefined) return { show: state };
    const unable = await this.#open();
    if (unable === undefined) return { againMs: 0 };
    return { show: { ...state, message: `${strings.deviceRequired} ${strings.unable[unable]}` } };
  }

  /**
   * A device that was admitted before may have been removed, and the gateway may require none any
   * more: the secret is tried alone, once.
   */
  #unpaired(state: Refused): Reaction {
    const wasAdmitted = this.#secret !== '' && this.#keep.getItem(DEVICE_NAME) !== null;
    if (!wasAdmitted || this.#isPlain !== undefined) return { againMs: ASK_AGAIN_MS, show: state };
    this.#isPlain = true;
    return { againMs: 0 };
  }

  /** Why this browser cannot be a device; undefined when it is one. */
  async #open(): Promise<Unable | undefined> {
    try {
      this.#identity ??= await openIdentity(await Store.open(), 'page');
      return undefined;
    } catch (error) {
      return error instanceof UnableError ? error.why : 'no-storage';
    }
  }
}
