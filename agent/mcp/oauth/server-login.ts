/**
 * The login of one MCP server and one tenant: the tokens of its requests, and their renewal.
 *
 * A request without a valid token gets 401, and is sent once more after a renewal: a refresh, a
 * request with client credentials, or, where an `Authorizer` is present, a login of a person. A
 * worker has none: the request fails with the command to run. It reads the login before every
 * request, so a new one is used at once.
 *
 * Invariants: a refresh token is used by one process at a time, which first looks for tokens that
 * another one has stored meanwhile, because servers accept each only once. Tokens of another URL,
 * client or issuer are not used.
 */
import type { AuthProvider } from '@modelcontextprotocol/client';
import type { McpServerConfig } from '../../../runtime/config/index.ts';
import type { Clock } from '../../../runtime/index.ts';
import type { GuardedFetch } from '../../net/guarded-fetch.ts';
import {
  arrived,
  authorization,
  type Authorizer,
  type Challenge,
  configuredClient,
} from './authorization.ts';
import { loginFailure, loginNeeded, scopeNeeded, scopeRefused } from './login-failure.ts';
import type { LoginStore, StoredLogin } from './login-store.ts';
import { createOAuthFetch } from './oauth-fetch.ts';
import { revoke } from './revocation.ts';

/** A token that expires within this time is renewed before it is used, milliseconds. */
const EXPIRY_MS = 30_000;

export type ServerLoginOptions = {
  readonly name: string;
  /** default: `default` */
  readonly tenant?: string;
  readonly config: McpServerConfig;
  readonly store: LoginStore;
  readonly clock: Clock;
  /** receives secrets, to mask them */
  readonly onSecrets?: (values: readonly (string | undefined)[]) => void;
  /** default: no person can log in here */
  readonly authorizer?: Authorizer;
  /** time limit of a request to the authorization server, milliseconds */
  readonly answerMs?: number;
};

/** A request that servers refuse without a token. */
const PROBE = {
  method: 'POST',
  headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'troupe', version: '1' },
    },
  }),
};

/** What is known of a login. */
export type LoginState = {
  readonly issuer: string;
  /** epoch milliseconds; absent: not known. With `isRefreshed` it is renewed without a person. */
  readonly expiresAt?: number;
  readonly isRefreshed: boolean;
};

/** Whether a server may have a login: one with a URL and no token of the configuration. */
export const mayLogIn = ({ url, headers }: McpServerConfig): boolean =>
  url !== undefined && !Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');

type Refused = Parameters<NonNullable<AuthProvider['onUnauthorized']>>[0];

export class ServerLogin implements AuthProvider {
  readonly #o: ServerLoginOptions;
  readonly #url: string;
  readonly #fetch: GuardedFetch;
  /** the token with which each response was requested */
  readonly #sent = new WeakMap<Response, string | undefined>();
  #renewal: Promise<string> | undefined;

  constructor(options: ServerLoginOptions) {
    const { name, config, answerMs } = options;
    this.#o = options;
    this.#url = config.url ?? '';
    this.#fetch = createOAuthFetch({ name, allowPrivate: config.allowPrivate, answerMs });
  }

  /** The SDK calls it before each request. @throws TroupeError when it cannot be renewed */
  async token(): Promise<string | undefined> {
    const { tokens } = (await this.#read()) ?? {};
    if (!tokens) return undefined;
    const isExpired = (tokens.expiresAt ?? Infinity) - EXPIRY_MS < this.#o.clock.wallMs();
    const canRenew = tokens.refresh_token !== undefined || this.#isOfProgram;
    return isExpired && canRenew ? this.#renew(tokens.access_token, {}) : tokens.access_token;
  }

  /** The SDK calls it after 401. @throws TroupeError UNAUTHORIZED, UNAVAILABLE */
  async onUnauthorized({ response }: Refused): Promise<void> {
    const { extractWWWAuthenticateParams } = await import('@modelcontextprotocol/client');
    await this.#renew(this.#sent.get(response), extractWWWAuthenticateParams(response));
  }

  /**
   * `fetch` to the MCP server; after 403 for a missing scope it asks for it, once per request.
   * The function also throws TroupeError FORBIDDEN: the request was refused.
   */
  withScopes(fetch: GuardedFetch): GuardedFetch {
    const send = async (target: string | URL, init: RequestInit): Promise<Response> => {
      const response = await fetch(target, init);
      const [, token] = (new Headers(init.headers).get('authorization') ?? '').split(' ');
      this.#sent.set(response, token);
      return response;
    };
    return async (target, init = {}) => {
      const response = await send(target, init);
      if (response.status !== 403) return response;
      const { extractWWWAuthenticateParams } = await import('@modelcontextprotocol/client');
      const { error, ...challenge } = extractWWWAuthenticateParams(response);
      if (error !== 'insufficient_scope') return response;
      await response.body?.cancel();
      const token = await this.#widen(this.#sent.get(response), challenge);
      const headers = new Headers(init.headers);
      headers.set('authorization', `Bearer ${token}`);
      const second = await send(target, { ...init, headers });
      const { error: again, scope } = extractWWWAuthenticateParams(second);
      if (second.status !== 403 || again !== 'insufficient_scope') return second;
      await second.body?.cancel();
      throw scopeRefused(this.#o.name, scope);
    };
  }

  /** A new login, whatever is stored. @throws TroupeError */
  async logIn(challenge: Challenge): Promise<LoginState> {
    const asked = { ...challenge, scope: await this.#scopeFor(challenge) };
    const authorize = () => this.#authorize(asked, true);
    await (this.#isOfProgram ? this.#o.store.exclusive(authorize) : authorize());
    return (await this.state())!;
  }

  /** What the server asks for without a token; undefined: it answers. @throws TroupeError */
  async challenge(): Promise<Challenge | undefined> {
    const { extractWWWAuthenticateParams } = await import('@modelcontextprotocol/client');
    const response = await this.#fetch(this.#url, PROBE).catch(async (error: unknown) => {
      throw await loginFailure(this.#o.name, error);
    });
    await response.body?.cancel();
    return response.status === 401 ? extractWWWAuthenticateParams(response) : undefined;
  }

  /** Forgets the login. `revoked`: whether its server has, too; false also when it cannot. */
  async logOut(): Promise<{ readonly wasLoggedIn: boolean; readonly revoked: boolean }> {
    const { store, config } = this.#o;
    return store.exclusive(async () => {
      const stored = await store.read();
      const login = await this.#read();
      await store.write(undefined);
      // A login of a former URL or client ends without the secret of the configured one.
      const client = login && configuredClient(config.oauth, login.issuer);
      const revoked = stored
        ? await revoke({ ...stored, ...(client && { client }) }, this.#fetch)
        : false;
      return { wasLoggedIn: stored !== undefined, revoked };
    });
  }

  /** undefined: no login is stored */
  async state(): Promise<LoginState | undefined> {
    const { issuer, tokens } = (await this.#read()) ?? {};
    if (issuer === undefined || !tokens) return undefined;
    const { expiresAt, refresh_token: refreshToken } = tokens;
    const isRefreshed = refreshToken !== undefined || this.#isOfProgram;
    return { issuer, isRefreshed, ...(expiresAt !== undefined && { expiresAt }) };
  }

  get #isOfProgram(): boolean {
    return this.#o.config.oauth?.grant === 'client_credentials';
  }

  /** The stored login, if it belongs to this URL, client and issuer. */
  async #read(): Promise<StoredLogin | undefined> {
    const { store, config, onSecrets } = this.#o;
    const login = await store.read();
    if (!login) return undefined;
    const { tokens, client } = login;
    onSecrets?.([tokens?.access_token, tokens?.refresh_token, client.client_secret]);
    const { clientId = client.client_id, issuer = login.issuer } = config.oauth ?? {};
    const fits =
      login.url === this.#url && client.client_id === clientId && login.issuer === issuer;
    return fits && (tokens?.issuer ?? issuer) === login.issuer ? login : undefined;
  }

  /** @param failed the token that was refused */
  #renew(failed: string | undefined, challenge: Challenge): Promise<string> {
    this.#renewal ??= this.#renewed(failed, challenge)
      .catch(async (error: unknown) => {
        throw await loginFailure(this.#o.name, error);
      })
      .finally(() => void (this.#renewal = undefined));
    return this.#renewal;
  }

  async #renewed(failed: string | undefined, challenge: Challenge): Promise<string> {
    const { authorizer, store } = this.#o;
    const scope = await this.#scopeFor(challenge);
    if (authorizer && !this.#isOfProgram) return this.#authorize({ ...challenge, scope }, false);
    return store.exclusive(async () => {
      const login = await this.#read();
      const token = login?.tokens?.access_token;
      if (token !== undefined && token !== failed) return token;
      return this.#isOfProgram
        ? this.#authorize({ ...challenge, scope }, false)
        : this.#refresh(login);
    });
  }

  async #refresh(login: StoredLogin | undefined): Promise<string> {
    const { name, store, config, clock, onSecrets } = this.#o;
    if (!login?.tokens) throw loginNeeded(this.#o);
    const { tokens: former, ...ended } = login;
    const { refresh_token: refreshToken, scope } = former;
    if (refreshToken === undefined) {
      await store.write(ended);
      throw loginNeeded(this.#o, 'needs a new login, because the former one has ended');
    }
    const { issuer, client, metadata, resource } = login;
    const { OAuthError, refreshAuthorization } = await import('@modelcontextprotocol/client');
    try {
      const tokens = await refreshAuthorization(issuer, {
        refreshToken,
        clientInformation: configuredClient(config.oauth, issuer) ?? client,
        ...(metadata && { metadata }),
        ...(resource !== undefined && { resource }),
        fetchFn: this.#fetch,
      });
      onSecrets?.([tokens.access_token, tokens.refresh_token]);
      const fresh = { ...(scope !== undefined && { scope }), ...tokens, issuer };
      await store.write({ ...login, tokens: arrived(name, fresh, clock.wallMs()) });
      return tokens.access_token;
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      const { code } = error;
      const isUnknownClient = code === 'invalid_client' || code === 'unauthorized_client';
      if (!isUnknownClient && code !== 'invalid_grant') throw error;
      await store.write(isUnknownClient && !config.oauth?.clientId ? undefined : ended);
      throw loginNeeded(this.#o, 'needs a new login, because the former one has ended');
    }
  }

  /** Returns the new token, which is stored. Of a program: only as exclusive work of the store. */
  async #authorize(challenge: Challenge, isForced: boolean): Promise<string> {
    const { name, config, store, clock, authorizer, onSecrets } = this.#o;
    const login = await authorization({
      name,
      url: this.#url,
      oauth: config.oauth,
      former: await this.#read(),
      authorizer: this.#isOfProgram ? undefined : authorizer,
      fetch: this.#fetch,
      challenge,
      isForced,
      now: clock.wallMs(),
    }).catch(async (error: unknown) => {
      throw await loginFailure(name, error);
    });
    const { access_token: token, refresh_token: refreshToken } = login.tokens!;
    onSecrets?.([token, refreshToken, login.client.client_secret]);
    if (this.#isOfProgram) await store.write(login);
    else await store.exclusive(() => store.write(login));
    return token;
  }

  /** A token with more scopes. @throws TroupeError FORBIDDEN when a login gives no more */
  async #widen(failed: string | undefined, challenge: Challenge): Promise<string> {
    const { computeScopeUnion, isStrictScopeSuperset } = await import(
      '@modelcontextprotocol/client'
    );
    const { name, authorizer, store } = this.#o;
    const login = await this.#read();
    if (!login?.tokens) throw loginNeeded(this.#o);
    const { access_token: token, scope: granted } = login.tokens;
    if (token !== failed) return token;
    const missing = validScope(challenge.scope);
    const scope = computeScopeUnion(granted, missing);
    if (missing === undefined || !isStrictScopeSuperset(scope, granted))
      throw scopeRefused(name, missing);
    const authorize = () => this.#authorize({ ...challenge, scope }, true);
    if (this.#isOfProgram) return store.exclusive(authorize);
    if (authorizer) return authorize();
    await store.exclusive(async () => {
      const now = await this.#read();
      const wantedScope = computeScopeUnion(now?.wantedScope, scope)!;
      if (now) await store.write({ ...now, wantedScope });
    });
    throw scopeNeeded(this.#o, missing);
  }

  /** What to ask for: scopes of the configuration instead of those of the server. */
  async #scopeFor({ scope }: Challenge): Promise<string | undefined> {
    const { computeScopeUnion } = await import('@modelcontextprotocol/client');
    const { scopes = [] } = this.#o.config.oauth ?? {};
    const { wantedScope } = (await this.#read()) ?? {};
    return computeScopeUnion(scopes.length > 0 ? scopes.join(' ') : validScope(scope), wantedScope);
  }
}

/** The parts of a scope that RFC 6749, 3.3 allows; undefined when there are none. */
const validScope = (scope = ''): string | undefined =>
  scope
    .split(' ')
    .filter((part) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(part))
    .join(' ') || undefined;
