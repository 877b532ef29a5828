/** Searches values for texts. Pure. */

/** Whether one of the texts in a value, at any depth, is one that `is` accepts. */
export function mentions(value: unknown, is: (text: string) => boolean): boolean {
  for (const text of textsIn(value)) if (is(text)) return true;
  return false;
}

/** Every text in a value, also the keys of objects. */
export function* textsIn(value: unknown): Iterable<string> {
  if (typeof value === 'string') yield value;
  else if (Array.isArray(value)) for (const each of value) yield* textsIn(each);
  else if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value))
    for (const [key, each] of Object.entries(value)) {
      yield key;
      yield* textsIn(each);
    }
}
