/** The header `Retry-After` (RFC 9110, 10.2.3) of programs outside. */

const SECONDS_MAX = 3_600;

/** Milliseconds from now, an hour at most; undefined: the header is absent or invalid. */
export function retryAfterMsOf(text: string | null | undefined): number | undefined {
  if (text === null || text === undefined || text.trim() === '') return undefined;
  const seconds = /^\s*\d+\s*$/.test(text)
    ? Number(text)
    : Math.ceil((Date.parse(text) - Date.now()) / 1_000);
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(0, seconds), SECONDS_MAX) * 1_000;
}
