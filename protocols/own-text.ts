/** Text that is kept for long. */

/**
 * The same text in memory of its own. V8 keeps a part of a text as a reference to the whole, and
 * decoded strings are parts of their message: a kept id of 36 bytes would keep all of it.
 */
export const ownText = (text: string): string => JSON.parse(JSON.stringify(text)) as string;
