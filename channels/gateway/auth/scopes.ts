/** What scopes include, for requests and for what is granted to devices. */
import type { Scope } from '../../../protocols/gateway/index.ts';

/** admin may do everything, and who may write may read. */
export const includesScope = (scopes: readonly Scope[], scope: Scope): boolean =>
  scopes.includes(scope) ||
  scopes.includes('operator.admin') ||
  (scope === 'operator.read' && scopes.includes('operator.write'));

/** First of `wanted` that these do not include. */
export const scopeMissing = (
  scopes: readonly Scope[],
  wanted: readonly string[],
): string | undefined => wanted.find((scope) => !includesScope(scopes, scope as Scope));
