/**
 * SecretMask: replaces the secret values that the installation knows in what tools return, before
 * it reaches a transcript, a stream, a hook or a model.
 *
 * Limits: a value is found as it is, as a JSON string holds it and as a URL holds it; not in
 * another encoding (base64, hex), not in pieces that a command prints apart, and not in images.
 * Values shorter than VALUE_CHARACTERS_MIN are not masked: they occur in ordinary text.
 */

/** What is written in place of a value. */
export const MASKED = '***';

/** Shorter values are left as they are. */
export const VALUE_CHARACTERS_MIN = 8;

/** A line of a value of several lines (a PEM key) is masked on its own when it is this long. */
const LINE_CHARACTERS_MIN = 20;

/** Masks a text that arrives in pieces: what may be the beginning of a value waits for the rest. */
export type MaskedStream<Piece> = {
  /** The masked text as far as it is certain; may be empty. */
  add(piece: Piece): Piece;
  /** What still waits; afterwards the stream begins anew. */
  end(): Piece;
};

export type SecretMask = {
  text(text: string): string;
  textStream(): MaskedStream<string>;
  /** For the output of programs: bytes that are no part of a value pass unchanged. */
  byteStream(): MaskedStream<Buffer>;
};

/** @param values may repeat, and be too short: see VALUE_CHARACTERS_MIN */
export function createSecretMask(values: Iterable<string>): SecretMask {
  const spellings = [...new Set([...values].flatMap(spellingsOf))];
  const inText = new Pattern(spellings);
  // One character per byte, so that a value is found across the cuts of its characters.
  const inBytes = new Pattern(spellings.map((value) => Buffer.from(value).toString('latin1')));
  return {
    text: (text) => inText.masked(text),
    textStream: () => streamOf(inText),
    byteStream: () => {
      if (inBytes.isEmpty) return { add: (piece) => piece, end: () => Buffer.alloc(0) };
      const inner = streamOf(inBytes);
      return {
        add: (piece) => Buffer.from(inner.add(piece.toString('latin1')), 'latin1'),
        end: () => Buffer.from(inner.end(), 'latin1'),
      };
    },
  };
}

class Pattern {
  readonly #values: readonly string[];
  readonly #pattern: RegExp | undefined;

  constructor(values: readonly string[]) {
    // The longest first: one value may begin with another.
    this.#values = values.toSorted((a, b) => b.length - a.length);
    const source = this.#values.map(literally).join('|');
    if (source !== '') this.#pattern = new RegExp(source, 'g');
  }

  get isEmpty(): boolean {
    return this.#pattern === undefined;
  }

  masked(text: string): string {
    return this.#pattern ? text.replaceAll(this.#pattern, MASKED) : text;
  }

  /** Where the part of `text` begins that may become a value when more comes; else its length. */
  openFrom(text: string): number {
    const open = Math.max(0, ...this.#values.map((value) => overlap(text, value)));
    const from = text.length - open;
    if (!this.#pattern || open === 0) return from;
    for (const { index, 0: found } of text.matchAll(this.#pattern))
      if (index < from && index + found.length > from) return index;
    return from;
  }
}

function streamOf(pattern: Pattern): MaskedStream<string> {
  let waiting = '';
  return {
    add(piece) {
      if (pattern.isEmpty) return piece;
      const text = waiting + piece;
      const from = pattern.openFrom(text);
      waiting = text.slice(from);
      return pattern.masked(text.slice(0, from));
    },
    end() {
      const rest = pattern.masked(waiting);
      waiting = '';
      return rest;
    },
  };
}

/** How many characters at the end of `text` are the beginning of `value`, and not all of it. */
function overlap(text: string, value: string): number {
  for (let length = Math.min(text.length, value.length - 1); length > 0; length--)
    if (text.endsWith(value.slice(0, length))) return length;
  return 0;
}

/** A value in each form that is looked for. */
function spellingsOf(value: string): string[] {
  const lines = value.split(/\r?\n/);
  const parts =
    lines.length === 1
      ? [value]
      : [value, ...lines.filter((line) => line.length >= LINE_CHARACTERS_MIN && !isBanner(line))];
  return parts
    .filter((part) => part.length >= VALUE_CHARACTERS_MIN)
    .flatMap((part) => [part, JSON.stringify(part).slice(1, -1), inUrl(part)]);
}

/** `-----BEGIN PRIVATE KEY-----` */
const isBanner = (line: string): boolean => line.startsWith('-----');

/** Through bytes, since half a character has no form in a URL. */
const inUrl = (text: string): string => encodeURIComponent(Buffer.from(text).toString());

const literally = (text: string): string =>
  text.replaceAll(/[$()*+./?[\\\]^{|}-]/g, String.raw`\$&`);

/** A mask that knows no values. */
export const NO_SECRETS: SecretMask = createSecretMask([]);
