/**
 * Errors of logins. Each means that the request to the MCP server was not made, or was refused.
 *
 * Invariant: no message contains an answer of a token endpoint, which may contain tokens.
 */
import { DEFAULT_TENANT } from '../../../protocols/address.ts';
import { defined } from '../../../protocols/defined.ts';
import { type ErrorCode, TroupeError } from '../../../protocols/errors.ts';
import { plainName } from '../../../protocols/plain-text.ts';

const MESSAGE_CHARACTERS_MAX = 300;
const REASON = 'LOGIN';

/** Codes with which an authorization server says that it cannot answer now. */
const NOT_NOW: Readonly<Record<string, ErrorCode>> = {
  server_error: 'UNAVAILABLE',
  temporarily_unavailable: 'UNAVAILABLE',
  slow_down: 'RATE_LIMIT_EXCEEDED',
  too_many_requests: 'RATE_LIMIT_EXCEEDED',
};

const failure = (code: ErrorCode, message: string, cause?: TroupeError): TroupeError =>
  new TroupeError(code, message, {
    details: { reason: REASON },
    cause,
    ...defined({ retryAfterMs: cause?.retryAfterMs }),
  });

export const isLoginFailure = (error: unknown): error is TroupeError =>
  error instanceof TroupeError && error.details?.['reason'] === REASON;

/** Whose login; without `tenant` that of the tenant `default`. */
export type LoginOf = { readonly name: string; readonly tenant?: string };

/** The command that makes a login. */
const loginCommand = ({ name, tenant = DEFAULT_TENANT }: LoginOf): string =>
  `troupe mcp login ${name}${tenant === DEFAULT_TENANT ? '' : ` --tenant ${tenant}`}`;

/** `why`: what is missing */
export const loginNeeded = (of: LoginOf, why = 'needs a login'): TroupeError =>
  failure('UNAUTHORIZED', `the MCP server ${of.name} ${why}: ${loginCommand(of)}`);

export const scopeNeeded = (of: LoginOf, scope: string): TroupeError =>
  failure(
    'FORBIDDEN',
    `the MCP server ${of.name} needs a login with the scope ` +
      `${plainName(scope, MESSAGE_CHARACTERS_MAX)}: ${loginCommand(of)}`,
  );

/** The login has the scope, or the server names none. */
export const scopeRefused = (name: string, scope: string | undefined): TroupeError =>
  failure(
    'FORBIDDEN',
    `the MCP server ${name} refused the call: it says that the login lacks ` +
      (scope === undefined
        ? 'a scope, and not which one'
        : `the scope ${plainName(scope, MESSAGE_CHARACTERS_MAX)}, which it has`),
  );

export const loginRefused = (name: string, why: string): TroupeError =>
  failure(
    'UNAUTHORIZED',
    `the login to the MCP server ${name} was refused: ${plainName(why, MESSAGE_CHARACTERS_MAX)}`,
  );

/** The failure of a request to an authorization server, or of an answer that cannot be used. */
export async function loginFailure(name: string, error: unknown): Promise<TroupeError> {
  if (isLoginFailure(error)) return error;
  const { OAuthError } = await import('@modelcontextprotocol/client');
  const about = `the login to the MCP server ${name}`;
  if (error instanceof TroupeError) return failure(error.code, `${about}: ${error.message}`, error);
  if (error instanceof OAuthError) {
    const notNow = NOT_NOW[error.code];
    return notNow
      ? failure(notNow, `${about}: ${plainName(refusalOf(error), MESSAGE_CHARACTERS_MAX)}`)
      : loginRefused(name, refusalOf(error));
  }
  if (error instanceof SyntaxError || (error as Error)?.name === 'ZodError')
    return failure('UNAVAILABLE', `${about}: the authorization server gave an invalid answer`);
  const message = plainName(
    error instanceof Error ? error.message : String(error),
    MESSAGE_CHARACTERS_MAX,
  );
  return failure('UNAVAILABLE', `${about}: ${message}`);
}

/** The SDK puts a body that is no OAuth error into the message. */
function refusalOf({ code, message }: { readonly code: string; readonly message: string }): string {
  const [status] = /^HTTP \d+/.exec(message) ?? [];
  if (message.includes('Raw body:'))
    return `the authorization server answered ${status ?? 'without an OAuth error'}`;
  return message === '' || message === code ? code : `${code}: ${message}`;
}
