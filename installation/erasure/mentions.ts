/** Searches values for texts. Pure. */

/** Whether one of the texts in a value, at any depth, is one that `is` accepts. */
export function mentions(value: unknown, is: (text: string) => boolean): boolean {
  for (const text of textsIn(value)) if (is(text)) return true;
  return false;
}

const HASHES = /(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])/g;

/** Every SHA-256 in the texts of a value, also as a part of a text, as in a URL. */
export function* hashesIn(value: unknown): Iterable<string> {
  for (const text of textsIn(value)) for (const [hash] of text.matchAll(HASHES)) yield hash;
}

/** Every text in a value, also the keys of objects. */
function* textsIn(value: unknown): Iterable<string> {
  if (typeof value === 'string') yield value;
  else if (Array.isArray(value)) for (const each of value) yield* textsIn(each);
  else if (typeof value === 'object' && value !== null && !ArrayBuffer.isView(value))
    for (const [key, each] of Object.entries(value)) {
      yield key;
      yield* textsIn(each);
    }
}
