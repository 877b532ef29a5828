/**
 * What is kept of a login to an MCP server, and where: a port, whose files are in
 * installation/mcp-logins.ts.
 */
import type {
  AuthorizationServerMetadata,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';

export type StoredLogin = {
  /** of the MCP server: the login is used for no other URL */
  readonly url: string;
  /** of the authorization server: its secrets are sent to no other one */
  readonly issuer: string;
  readonly metadata?: AuthorizationServerMetadata;
  /** the resource for which tokens are requested (RFC 8707) */
  readonly resource?: string;
  /** without the secret of a client of the configuration */
  readonly client: StoredOAuthClientInformation;
  /** absent after a refused refresh: a new login is needed */
  readonly tokens?: LoginTokens;
  /** scopes that a call needed; the next login asks for them, too */
  readonly wantedScope?: string;
};

/** `expiresAt`: epoch milliseconds; absent when the server did not say. */
export type LoginTokens = StoredOAuthTokens & { readonly expiresAt?: number };

/** The login of one server and one tenant. Processes of one machine share it. */
export type LoginStore = {
  /** undefined when there is none */
  read(): Promise<StoredLogin | undefined>;
  /** Replaces the login, completely or not at all; undefined removes it. */
  write(login: StoredLogin | undefined): Promise<void>;
  /**
   * Runs the work while no other process, and no other caller of this one, runs one.
   * @throws TroupeError UNAVAILABLE when another one does not end; what the work throws
   */
  exclusive<T>(work: () => Promise<T>): Promise<T>;
};
