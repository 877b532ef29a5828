/**
 * Removes the secrets from the text of a configuration file, and restores them.
 *
 * A secret is a text that the schema marks as one, or the login in an address. References (`{ env:
 * "NAME" }`) name the location of a secret and are not redacted.
 *
 * Invariant: a redacted value does not occur in the result, in its own place or elsewhere.
 */
import type { TSchema } from '@sinclair/typebox';
import JSON5 from 'json5';
import { TroupeError } from '../../protocols/errors.ts';
import { CONFIG_REDACTED } from '../../protocols/gateway/index.ts';
import { childSchema, isSecret } from '../../runtime/config/schema/fields.ts';
import { childPointer, showPointer, valueAt } from '../../runtime/config/pointer.ts';

type Visit = (text: string, pointer: string) => string;

/** The same value with every secret text replaced. */
const replaced = (
  schema: TSchema | undefined,
  value: unknown,
  visit: Visit,
  pointer = '',
): unknown => {
  if (typeof value === 'string') {
    const isHidden = (schema !== undefined && isSecret(schema)) || hasLogin(value);
    return isHidden || value === CONFIG_REDACTED ? visit(value, pointer) : value;
  }
  if (typeof value !== 'object' || value === null) return value;
  // A reference to a secret contains none.
  const inside = schema !== undefined && isSecret(schema) ? undefined : schema;
  const entries = Object.entries(value).map(([key, child]) => {
    const own = inside === undefined ? undefined : childSchema(inside, key);
    return [key, replaced(own, child, visit, childPointer(pointer, key))] as const;
  });
  return Array.isArray(value) ? entries.map(([, child]) => child) : Object.fromEntries(entries);
};

/** `nats://user:password@host` */
const hasLogin = (text: string): boolean => /:\/\/[^\s/@]*@/.test(text);

/** The document without its secrets. */
export const redact = (schema: TSchema, document: unknown): unknown =>
  replaced(schema, document, () => CONFIG_REDACTED);

/**
 * The file's text for a client. Without secrets it is unchanged. Each secret is replaced if its
 * place in the text is certain; otherwise the text is generated from the values.
 */
export const redactText = (schema: TSchema, text: string, document: unknown): string => {
  const secrets = new Set<string>();
  replaced(schema, document, (secret) => {
    secrets.add(secret);
    return CONFIG_REDACTED;
  });
  let shown = text;
  for (const secret of [...secrets].toSorted((a, b) => b.length - a.length)) {
    shown = shown.replaceAll(secret, CONFIG_REDACTED);
  }
  const isClean = (): boolean => {
    try {
      const seen: unknown = JSON5.parse(shown);
      return JSON.stringify(seen) === JSON.stringify(redact(schema, document));
    } catch {
      return false;
    }
  };
  return isClean() ? shown : `${JSON5.stringify(redact(schema, document), null, 2)}\n`;
};

/**
 * Restores the redacted secrets in a document from a client.
 * @throws TroupeError INVALID_ARGUMENT for a redacted value that replaces no secret
 */
export const restore = (schema: TSchema, given: unknown, before: unknown): unknown =>
  replaced(schema, given, (text, pointer) => {
    if (text !== CONFIG_REDACTED) return text;
    const secret = valueAt(before, pointer);
    if (typeof secret === 'string') return secret;
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `${showPointer(pointer)} is hidden, and nothing was there before: write the value, or a ` +
        'reference such as { env: "NAME" }',
    );
  });

/** Restores the secrets in a text from a client; a text without redacted values is unchanged. */
export const restoreText = (
  schema: TSchema,
  text: string,
  given: unknown,
  before: unknown,
): string => {
  if (!text.includes(CONFIG_REDACTED)) return text;
  const whole = restore(schema, given, before);
  return `${JSON5.stringify(whole, null, 2)}\n`;
};
