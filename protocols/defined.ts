/** `defined`: object fields that are present only when they have a value. */

/** `T` with an optional key in place of each key whose value can be undefined. */
export type Defined<T> = {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K];
} & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/**
 * A copy of `fields` without those that are undefined: `{ id, ...defined({ label }) }` has the key
 * `label` only when there is a label, as `exactOptionalPropertyTypes` requires. Null, false, 0 and
 * '' are kept. Costs about 30 ns per field: code that runs per token or per message spreads a
 * conditional instead.
 */
export function defined<T extends object>(fields: T): Defined<T> {
  const kept: Record<string, unknown> = {};
  for (const key in fields) {
    const value = fields[key];
    if (value !== undefined) kept[key] = value;
  }
  return kept as Defined<T>;
}
