/** Which scopes include which others, for requests and for device grants. */
import type { Scope } from '../../protocols/gateway/index.ts';

/** `admin` includes all scopes, and `write` includes `read`. */
export const includesScope = (scopes: readonly Scope[], scope: Scope): boolean =>
  scopes.includes(scope) ||
  scopes.includes('operator.admin') ||
  (scope === 'operator.read' && scopes.includes('operator.write'));

/** The first of `wanted` that the scopes do not include. */
export const scopeMissing = (
  scopes: readonly Scope[],
  wanted: readonly string[],
): string | undefined => wanted.find((scope) => !includesScope(scopes, scope as Scope));
