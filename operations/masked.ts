/** Secrets in values that operators see. */

/** The value as JSON text, with every secret in its strings replaced. */
export const maskedJson = (value: unknown, mask: (text: string) => string): string =>
  JSON.stringify(value, (_, part: unknown) => (typeof part === 'string' ? mask(part) : part));

/** The same as a value. */
export const masked = <T>(value: T, mask: (text: string) => string): T =>
  JSON.parse(maskedJson(value, mask)) as T;
