/**
 * The page's address: `#token=…&session=…`. The token is kept for this tab only and is removed from
 * the address bar and its history.
 */
import { keptInTab } from './kept.ts';

const TOKEN_NAME = 'troupe.token';

/** Whether the address contained a token. */
export const takeToken = (): boolean => {
  const hash = new URLSearchParams(location.hash.slice(1));
  const token = hash.get('token');
  if (token === null) return false;
  keepToken(token);
  hash.delete('token');
  const rest = hash.toString();
  history.replaceState(null, '', location.pathname + location.search + (rest && `#${rest}`));
  return true;
};

export const keepToken = (token: string): void => keptInTab.setItem(TOKEN_NAME, token);

export const keptToken = (): string => keptInTab.getItem(TOKEN_NAME) ?? '';

export const sessionInAddress = (): string | undefined =>
  new URLSearchParams(location.hash.slice(1)).get('session') ?? undefined;
