/** What a program that `troupe dev` runs sends to it, over the private channel between them. */
import type { TroupeError } from '../protocols/errors.ts';

/** Set by `troupe dev` in the environment of the program that it runs. */
export const DEV_REPORTS = 'TROUPE_DEV_REPORTS';

export type DevReport =
  /** of the view of the actors, signed in */
  | { readonly url: string }
  /** the store failed: the reason */
  | { readonly failure: string };

/** The page of the program, at the view of the actors of a type. */
export function reportUrl(url: string, token: string | undefined, type: string | undefined): void {
  const hash = new URLSearchParams({
    ...(token !== undefined && { token }),
    view: 'actors',
    ...(type !== undefined && { type }),
  });
  report({ url: `${url}#${hash.toString()}` });
}

/** The store failed, so the program has to be started again. */
export const reportFailed = ({ message }: TroupeError): void => report({ failure: message });

/** Does nothing in any other program, and when `troupe dev` is gone. */
function report(what: DevReport): void {
  if (process.env[DEV_REPORTS]) process.send?.(what, undefined, undefined, () => {});
}
