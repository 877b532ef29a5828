/**
 * PageIdentity: how the page authenticates. It uses the secret alone if that is enough, or a device
 * key of this browser if the gateway requires one (`gateway.auth.deviceIdentity`). The browser
 * stores that the device was approved, and its device token.
 */
import { type DeviceKey, deviceProof } from '../../client/device-proof.ts';
import type { ConnectChallenge, ConnectParams } from '../../protocols/gateway/index.ts';
import { type ConnectionState, sharedParams } from './gateway.ts';
import type { Unable, UnableError } from './identity.ts';
import type { Keep } from '../kept.ts';
import { strings } from '../strings.ts';

/** An operator's client with all scopes of its secret. */
const OPERATOR = {
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
  caps: ['tool-events'],
} satisfies Partial<ConnectParams>;

/**
 * The stored device token; empty if it has none; missing if the page was never approved as a
 * device.
 */
const DEVICE_NAME = 'troupe.page.device';
/** While the page waits for an approval, it retries at this interval. */
const ASK_AGAIN_MS = 3_000;

type Refused = Extract<ConnectionState, { kind: 'refused' }>;

/** The page's reaction to a refusal: it retries after this time and shows this meanwhile. */
export type Reaction = { readonly againMs?: number; readonly show?: Refused };

export class PageIdentity {
  readonly #secret: string;
  readonly #locale: string;
  readonly #keep: Keep;
  #identity: DeviceKey | undefined;
  /** whether the next handshake uses the secret alone; undefined: not tried yet */
  #isPlain: boolean | undefined;

  constructor({ token, locale, keep }: { token: string; locale: string; keep: Keep }) {
    this.#secret = token;
    this.#locale = locale;
    this.#keep = keep;
  }

  /** The parameters of one connection. */
  async introduce(challenge: ConnectChallenge): Promise<ConnectParams> {
    const plain = { ...sharedParams(this.#locale, this.#secret), ...OPERATOR };
    const kept = this.#keep.getItem(DEVICE_NAME);
    // Without its key the page connects without a device, and the gateway refuses it.
    if (kept !== null) await this.#open();
    if (this.#identity === undefined || this.#isPlain) return plain;
    const own = this.#secret === '' ? kept || undefined : undefined;
    const params = own === undefined ? plain : { ...plain, auth: { deviceToken: own } };
    return { ...params, device: await deviceProof(this.#identity, params, challenge) };
  }

  /** The gateway accepted the page. */
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
   * A device that was approved before may have been removed, and the gateway may no longer require
   * one. So the secret alone is tried once.
   */
  #unpaired(state: Refused): Reaction {
    const wasAdmitted = this.#secret !== '' && this.#keep.getItem(DEVICE_NAME) !== null;
    if (!wasAdmitted || this.#isPlain !== undefined) return { againMs: ASK_AGAIN_MS, show: state };
    this.#isPlain = true;
    return { againMs: 0 };
  }

  /** Why this browser cannot be a device; undefined if it can. */
  async #open(): Promise<Unable | undefined> {
    try {
      // Only a gateway that requires a device needs this code.
      const [{ openIdentity }, { Store }] = await Promise.all([
        import('./identity.ts'),
        import('../store.ts'),
      ]);
      this.#identity ??= await openIdentity(await Store.open(), 'page');
      return undefined;
    } catch (error) {
      return (error as Partial<UnableError>).why ?? 'no-storage';
    }
  }
}
