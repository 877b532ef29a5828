/**
 * One authorization by OAuth 2.1, from the discovery of the authorization server to the tokens. The
 * SDK's `auth` does the protocol: metadata of the resource (RFC 9728) and of the server with its
 * issuer (RFC 8414), registration (RFC 7591) or client id metadata documents, PKCE, `resource`
 * (RFC 8707).
 *
 * Boundary: server-login.ts decides when one is made and stores what it returns; an `Authorizer`
 * shows the page to a person.
 *
 * Invariants: the page is opened only by http or https; the answer of the page is used only with
 * our `state` and the issuer that was asked (RFC 9207), also when it is an error.
 */
import { randomBytes } from 'node:crypto';
import type { OAuthClientProvider, OAuthDiscoveryState } from '@modelcontextprotocol/client';
import type { McpServerConfig } from '../../../runtime/config/index.ts';
import type { GuardedFetch } from '../../net/guarded-fetch.ts';
import { loginRefused } from './login-failure.ts';
import type { LoginTokens, StoredLogin } from './login-store.ts';
import { isConfidential } from './oauth-fetch.ts';

export type OAuthConfig = NonNullable<McpServerConfig['oauth']>;

/** Where a person logs in. */
export type Authorizer = {
  /** to which the page returns */
  readonly redirectUrl: string;
  /** Shows the page, and returns the parameters with which it returned. @throws TroupeError */
  authorize(this: void, page: URL): Promise<URLSearchParams>;
};

/** What a refused request asks for. */
export type Challenge = {
  readonly resourceMetadataUrl?: URL | undefined;
  readonly scope?: string | undefined;
};

export type AuthorizationOptions = {
  readonly name: string;
  readonly url: string;
  readonly oauth: OAuthConfig | undefined;
  /** whose registration, and unless `isForced` whose refresh token, is used */
  readonly former: StoredLogin | undefined;
  /** absent: without a person */
  readonly authorizer: Authorizer | undefined;
  readonly fetch: GuardedFetch;
  readonly challenge: Challenge;
  /** a refresh is not enough */
  readonly isForced: boolean;
  /** epoch milliseconds */
  readonly now: number;
};

/** What the SDK has handed over so far. */
type Draft = {
  /** for a refresh */
  former: LoginTokens | undefined;
  client?: StoredLogin['client'] | undefined;
  discovery?: OAuthDiscoveryState;
  resource?: string;
  verifier?: string;
  scope?: string | undefined;
  tokens?: LoginTokens;
  answer?: URLSearchParams;
};

/** @throws TroupeError UNAUTHORIZED when it was refused; errors of the SDK and of `fetch` */
export async function authorization(options: AuthorizationOptions): Promise<StoredLogin> {
  const { auth } = await import('@modelcontextprotocol/client');
  const { name, url, fetch: fetchFn, challenge, isForced, former } = options;
  const draft: Draft = { former: former?.tokens, client: registered(options) };
  const state = randomBytes(24).toString('base64url');
  const provider = providerOf(options, draft, state);
  const about = { serverUrl: url, fetchFn, ...challenge };
  const outcome = await auth(provider, { ...about, forceReauthorization: isForced });
  if (outcome === 'REDIRECT') {
    const { answer = new URLSearchParams(), discovery } = draft;
    const answered = await codeOf(name, answer, { state, discovery });
    await auth(provider, { ...about, ...answered });
  }
  const { tokens, client, discovery, resource } = draft;
  if (!tokens || !discovery) throw loginRefused(name, 'no tokens were given');
  const { authorizationServerMetadata: metadata } = discovery;
  const issuer = issuerOf(discovery);
  const id = options.oauth?.clientId;
  return {
    url,
    issuer,
    client: id === undefined ? client! : { client_id: id, issuer },
    ...(metadata && { metadata }),
    ...(resource !== undefined && { resource }),
    tokens: arrived(name, { scope: draft.scope ?? former?.tokens?.scope, ...tokens }, options.now),
  };
}

const issuerOf = ({
  authorizationServerMetadata: metadata,
  ...named
}: OAuthDiscoveryState): string => metadata?.issuer ?? named.authorizationServerUrl;

/** The latest time of a `Date`, epoch milliseconds. */
const TIME_MAX = 8.64e15;

/**
 * Tokens with the time at which they expire.
 * @throws TroupeError UNAUTHORIZED for a token that no header can have
 */
export const arrived = (name: string, tokens: LoginTokens, now: number): LoginTokens => {
  const { expiresAt: _, ...rest } = tokens;
  const { access_token: token, refresh_token: refreshToken = 'none', expires_in: seconds } = rest;
  if (![token, refreshToken].every((one) => /^[\x21-\x7e]+$/.test(one)))
    throw loginRefused(name, 'its authorization server gave a token with invalid characters');
  const expiresAt = now + (seconds ?? Infinity) * 1_000;
  return expiresAt <= TIME_MAX ? { ...rest, expiresAt } : rest;
};

/** The client of the configuration, as the authorization server `issuer` has it. */
export const configuredClient = (
  oauth: OAuthConfig | undefined,
  issuer: string,
): StoredLogin['client'] | undefined =>
  oauth?.clientId === undefined
    ? undefined
    : {
        client_id: oauth.clientId,
        ...(oauth.clientSecret && { client_secret: oauth.clientSecret.reveal() }),
        issuer: oauth.issuer ?? issuer,
      };

/** A former registration, if the page may return to this URL. */
function registered({ former, authorizer, oauth }: AuthorizationOptions): Draft['client'] {
  if (!former || oauth?.clientId !== undefined) return undefined;
  const { client } = former;
  const { redirect_uris: uris } = client as { readonly redirect_uris?: readonly string[] };
  const isOfDocument = client.client_id === oauth?.clientMetadataUrl;
  const fits = authorizer && (uris === undefined || uris.includes(authorizer.redirectUrl));
  return isOfDocument || fits ? client : undefined;
}

function providerOf(
  options: AuthorizationOptions,
  draft: Draft,
  state: string,
): OAuthClientProvider {
  const { name, oauth, former, authorizer } = options;
  const document = oauth?.clientMetadataUrl;
  const isConfigured = oauth?.clientId !== undefined;
  return {
    redirectUrl: authorizer?.redirectUrl,
    clientMetadata: clientMetadata(options),
    ...(document !== undefined && { clientMetadataUrl: document }),
    state: () => state,
    clientInformation: (context) =>
      configuredClient(oauth, former?.issuer ?? context?.issuer ?? '') ?? draft.client,
    // Without this function the SDK refuses another issuer than that of a configured client.
    ...(!isConfigured && { saveClientInformation: (client) => void (draft.client = client) }),
    tokens: () => draft.former,
    invalidateCredentials(what) {
      if (what === 'tokens') draft.former = undefined;
    },
    saveTokens: (tokens) => void (draft.tokens = tokens),
    async redirectToAuthorization(page) {
      if (!authorizer) throw loginRefused(name, 'no person can log in here');
      if (!isConfidential(page)) throw loginRefused(name, `its page is ${page.protocol}//…`);
      draft.scope = page.searchParams.get('scope') ?? undefined;
      draft.answer = await authorizer.authorize(page);
    },
    saveCodeVerifier: (verifier) => void (draft.verifier = verifier),
    codeVerifier: () => draft.verifier ?? '',
    saveDiscoveryState(discovery) {
      const issuer = issuerOf(discovery);
      if ((oauth?.issuer ?? issuer) !== issuer)
        throw loginRefused(name, `its authorization server is ${issuer}, not ${oauth?.issuer}`);
      draft.discovery = discovery;
    },
    discoveryState: () => draft.discovery,
    saveResourceUrl: (resource) => void (draft.resource = resource),
    ...(!authorizer && {
      prepareTokenRequest(scope) {
        draft.scope = scope;
        return new URLSearchParams({ grant_type: 'client_credentials', ...(scope && { scope }) });
      },
    }),
  };
}

const clientMetadata = ({
  authorizer,
}: AuthorizationOptions): OAuthClientProvider['clientMetadata'] =>
  authorizer
    ? {
        client_name: 'troupe',
        redirect_uris: [authorizer.redirectUrl],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
      }
    : { client_name: 'troupe', redirect_uris: [], grant_types: ['client_credentials'] };

type Asked = { readonly state: string; readonly discovery: Draft['discovery'] };

/** @throws TroupeError UNAUTHORIZED; IssuerMismatchError */
async function codeOf(
  name: string,
  answer: URLSearchParams,
  { state, discovery }: Asked,
): Promise<{ authorizationCode: string; iss?: string }> {
  const { validateAuthorizationResponseIssuer } = await import('@modelcontextprotocol/client');
  if (answer.get('state') !== state) throw loginRefused(name, 'the answer has another state');
  const iss = answer.get('iss') ?? undefined;
  const metadata = discovery?.authorizationServerMetadata;
  validateAuthorizationResponseIssuer({
    iss,
    expectedIssuer: metadata?.issuer,
    issParameterSupported: metadata?.authorization_response_iss_parameter_supported === true,
  });
  const [code, error] = [answer.get('code'), answer.get('error')];
  if (code !== null) return { authorizationCode: code, ...(iss !== undefined && { iss }) };
  const description = answer.get('error_description');
  throw loginRefused(
    name,
    [error ?? 'the answer has no code', description].filter((text) => text !== null).join(': '),
  );
}
