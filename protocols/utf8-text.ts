/** Keeps a byte order mark, so that the text has the same bytes again. */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text of a file; undefined: it is not UTF-8, or has a zero byte. */
export function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    const text = decoder.decode(bytes);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}
