/** The pages' gateway client: its settings for a browser, and its state as the pages show it. */
import { PROTOCOL } from '../../client/connect-params.ts';
import {
  type ClientState,
  GatewayClient,
  type GatewayClientOptions,
} from '../../client/gateway-client.ts';
import type { TroupeError } from '../../protocols/errors.ts';
import type { ConnectParams, HelloOk } from '../../protocols/gateway/index.ts';

export type ConnectionState =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'online'; readonly hello: HelloOk }
  /** `retryAt` is a time of Date.now() */
  | { readonly kind: 'waiting'; readonly retryAt: number; readonly restarting: boolean }
  /** `code` is a ConnectErrorCode if the gateway sent one */
  | {
      readonly kind: 'refused';
      readonly code: string;
      readonly message: string;
      readonly details: unknown;
    };

/** A page retries for as long as it is open. Its requests have no time limit. */
const SETTINGS = {
  persistent: true,
  backoffMs: { first: 500, most: 10_000, restart: 300 },
  helloTimeoutMs: 65_000,
  requestTimeoutMs: 0,
} as const;

/** Not connected yet; `onState` is called at every change except `close`. */
export const gatewayClient = (
  { url, introduce, openSocket }: GatewayClientOptions,
  onState: (state: ConnectionState) => void,
): GatewayClient => {
  const client = new GatewayClient({
    ...SETTINGS,
    url,
    introduce,
    ...(openSocket ? { openSocket } : {}),
  });
  client.watch((state) => {
    const shown = shownState(state);
    if (shown !== undefined) onState(shown);
  });
  return client;
};

/** Undefined after `close`. */
const shownState = (state: ClientState): ConnectionState | undefined => {
  if (state.kind === 'open') return { ...state, kind: 'online' };
  if (state.kind !== 'closed') return state;
  return state.why && refusedState(state.why);
};

const refusedState = ({ code, message, details }: TroupeError): ConnectionState => ({
  kind: 'refused',
  code: (details as { code?: string } | undefined)?.code ?? code,
  message,
  details,
});

/**
 * The fields of a `connect` request that all pages send. The secret may be a token or a password;
 * an empty one is not sent.
 */
export const sharedParams = (
  locale: string,
  secret: string,
): Pick<ConnectParams, 'minProtocol' | 'maxProtocol' | 'locale' | 'auth'> => ({
  ...PROTOCOL,
  locale,
  ...(secret === '' ? {} : { auth: { token: secret, password: secret } }),
});
