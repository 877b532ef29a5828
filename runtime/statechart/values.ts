/**
 * Values: whether the store returns a value unchanged: JSON values, bytes, undefined fields; and at
 * most how many bytes it takes there.
 */

/** Where and why a value cannot be stored, as `path is a Map`; undefined when it can. */
export const unfitValue = (value: unknown, path = 'context'): string | undefined =>
  bytesMaxOf(value) === UNFIT ? fault(value, path, 0) : undefined;

/** What `bytesMaxOf` returns for a value that cannot be stored. */
export const UNFIT = -1;
/** Of a header, and of a number. */
const SCALAR_BYTES = 9;
/** Of one character of a string in UTF-8. */
const CHARACTER_BYTES = 3;

/**
 * At least as many bytes as the value takes encoded, and at most three times as many and 8 for each
 * part; UNFIT when it cannot be stored.
 *
 * Every message, row and answer is checked, most of them several times: nothing is allocated here,
 * and the path is built only for an invalid value.
 */
export function bytesMaxOf(value: unknown, depth = 0): number {
  if (typeof value === 'string') return SCALAR_BYTES + value.length * CHARACTER_BYTES;
  if (typeof value !== 'object' || value === null)
    return unfitPrimitive(value) === undefined ? SCALAR_BYTES : UNFIT;
  if (value instanceof Uint8Array) return SCALAR_BYTES + value.byteLength;
  if (depth > DEPTH_MAX) return UNFIT;
  let sum = SCALAR_BYTES;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) {
      const bytes = bytesMaxOf(value[at], depth + 1);
      if (bytes === UNFIT) return UNFIT;
      sum += bytes;
    }
    return sum;
  }
  if (!isPlain(value)) return UNFIT;
  for (const key in value) {
    const bytes = bytesMaxOf((value as Record<string, unknown>)[key], depth + 1);
    if (bytes === UNFIT) return UNFIT;
    sum += SCALAR_BYTES + key.length * CHARACTER_BYTES + bytes;
  }
  return sum;
}

function fault(value: unknown, path: string, depth: number): string | undefined {
  if (typeof value !== 'object' || value === null) {
    const what = unfitPrimitive(value);
    return what && `${path} is ${what}`;
  }
  if (value instanceof Uint8Array) return undefined;
  if (depth > DEPTH_MAX)
    return `${path} is nested more than ${DEPTH_MAX} levels deep, or in a circle`;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) {
      const found = fault(value[at], `${path}[${at}]`, depth + 1);
      if (found) return found;
    }
    return undefined;
  }
  if (!isPlain(value)) return `${path} is a ${value.constructor.name}`;
  for (const [key, field] of Object.entries(value)) {
    const found = fault(field, `${path}.${key}`, depth + 1);
    if (found) return found;
  }
  return undefined;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** The same for a context, looking only at the fields that changed. */
export function unfitChange(now: unknown, before: unknown): string | undefined {
  if (now === before) return undefined;
  for (const key of Object.keys(now as object)) {
    const value = (now as Record<string, unknown>)[key];
    if (value === (before as Record<string, unknown>)[key]) continue;
    const found = unfitValue(value, `context.${key}`);
    if (found) return found;
  }
  return undefined;
}

const DEPTH_MAX = 100;

function unfitPrimitive(value: unknown): string | undefined {
  switch (typeof value) {
    case 'function':
    case 'symbol':
    case 'bigint':
      return `a ${typeof value}`;
    case 'number':
      return Number.isFinite(value) ? undefined : String(value);
    default:
      return undefined;
  }
}
