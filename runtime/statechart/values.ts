/**
 * Values: whether a value comes back from the store as it went in: JSON values, bytes, undefined
 * fields.
 */

/** Where and why a value can not be stored, as `path is a Map`; undefined when it can. */
export function unfitValue(value: unknown, path = 'context', depth = 0): string | undefined {
  if (typeof value !== 'object' || value === null) return unfitPrimitive(value, path);
  if (value instanceof Uint8Array) return undefined;
  if (depth > DEPTH_MAX)
    return `${path} is nested more than ${DEPTH_MAX} levels deep, or in a circle`;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) {
      const found = unfitValue(value[at], `${path}[${at}]`, depth + 1);
      if (found) return found;
    }
    return undefined;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null)
    return `${path} is a ${value.constructor.name}`;
  for (const key of Object.keys(value)) {
    const found = unfitValue((value as Record<string, unknown>)[key], `${path}.${key}`, depth + 1);
    if (found) return found;
  }
  return undefined;
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

function unfitPrimitive(value: unknown, path: string): string | undefined {
  if (typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint') {
    return `${path} is a ${typeof value}`;
  }
  return typeof value === 'number' && !Number.isFinite(value) ? `${path} is ${value}` : undefined;
}
