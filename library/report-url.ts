/** How a program that `troupe dev` runs tells it where its page is. */

/** Set by `troupe dev` in the environment of a program whose page it opens. */
export const REPORTS_URL = 'TROUPE_DEV_REPORTS_URL';

/**
 * Sends the URL of the view of the actors of a type, signed in, over the private channel between
 * the processes. Does nothing in any other program.
 */
export function reportUrl(url: string, token: string | undefined, type: string | undefined): void {
  if (!process.env[REPORTS_URL] || !process.send) return;
  const hash = new URLSearchParams({
    ...(token !== undefined && { token }),
    view: 'actors',
    ...(type !== undefined && { type }),
  });
  process.send({ url: `${url}#${hash.toString()}` });
}
