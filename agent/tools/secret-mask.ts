/**
 * SecretMask: replaces the installation's secret values in tool results before a transcript,
 * stream, hook or model receives them.
 *
 * It finds a value in plain form, JSON-escaped, URL-encoded, in hex, and in base64 (also within a
 * longer text on one line). It does not find other encodings, values that a command prints in
 * separate pieces, or values in images. Values shorter than VALUE_CHARACTERS_MIN are not masked,
 * because they occur in ordinary text.
 */

/** Replaces a value. */
export const MASKED = '***';

/** Shorter values are not masked. */
export const VALUE_CHARACTERS_MIN = 8;

/** A line of a multi-line value (a PEM key) with at least this length is also masked on its own. */
const LINE_CHARACTERS_MIN = 20;

/**
 * Masks a text that arrives in pieces. It holds back a possible beginning of a value until the rest
 * arrives.
 */
export type MaskedStream<Piece> = {
  /** Returns the masked text that is final; may be empty. */
  add(piece: Piece): Piece;
  /** Returns the rest and resets the stream. */
  end(): Piece;
};

export type SecretMask = {
  text(text: string): string;
  textStream(): MaskedStream<string>;
  /** For program output: bytes that are not part of a value stay unchanged. */
  byteStream(): MaskedStream<Buffer>;
};

/** @param values duplicates and values shorter than VALUE_CHARACTERS_MIN are allowed */
export function createSecretMask(values: Iterable<string>): SecretMask {
  const spellings = [...new Set([...values].flatMap(spellingsOf))];
  const inText = new Pattern(spellings);
  // One character per byte, so that a value is found even when a chunk boundary splits a character.
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

/**
 * Finds all values in one pass: a rolling hash over VALUE_CHARACTERS_MIN characters (Rabin and
 * Karp, 1987). A value is compared only where the hash equals that of its beginning. When several
 * values begin at one position, the longest is masked.
 */
class Pattern {
  /** by the hash of their beginning, the longest first */
  readonly #values = new Map<number, string[]>();
  /** by the last bits of a hash: whether a value may have it. A look-up in the map takes longer. */
  readonly #mayBegin = new Uint8Array(1 << MAY_BITS);
  /** beginnings of values, shorter than the hash needs */
  readonly #beginnings = new Set<string>();

  constructor(values: readonly string[]) {
    for (const value of values.toSorted((a, b) => b.length - a.length)) {
      const hash = hashAt(value, 0);
      const same = this.#values.get(hash);
      if (same) same.push(value);
      else this.#values.set(hash, [value]);
      this.#mayBegin[hash & MAY_MASK] = 1;
      for (let n = 1; n < VALUE_CHARACTERS_MIN; n++) this.#beginnings.add(value.slice(0, n));
    }
  }

  get isEmpty(): boolean {
    return this.#values.size === 0;
  }

  masked(text: string): string {
    return this.isEmpty ? text : this.#scan(text, false).masked;
  }

  /** `rest`: the end of the text that may be the beginning of a value. */
  maskedSoFar(text: string): { readonly masked: string; readonly rest: string } {
    return this.#scan(text, true);
  }

  #scan(text: string, goesOn: boolean): { masked: string; rest: string } {
    const last = text.length - VALUE_CHARACTERS_MIN;
    let masked = '';
    let kept = 0;
    let hash = hashAt(text, 0);
    for (let at = 0; at <= last; ) {
      const found = this.#valueAt(text, at, hash, goesOn);
      if (found === undefined) {
        hash = rolled(hash, text.charCodeAt(at), text.charCodeAt(at + VALUE_CHARACTERS_MIN));
        at += 1;
        continue;
      }
      masked += text.slice(kept, at);
      if (at + found.length > text.length) return { masked, rest: text.slice(at) };
      masked += MASKED;
      kept = at += found.length;
      hash = hashAt(text, at);
    }
    const open = goesOn ? this.#openFrom(text, Math.max(kept, last + 1)) : text.length;
    return { masked: masked + text.slice(kept, open), rest: text.slice(open) };
  }

  /** The longest value at this position, or with `goesOn` one that more text could complete. */
  #valueAt(text: string, at: number, hash: number, goesOn: boolean): string | undefined {
    if (this.#mayBegin[hash & MAY_MASK] === 0) return undefined;
    const values = this.#values.get(hash);
    return values?.find((value) =>
      at + value.length <= text.length
        ? text.startsWith(value, at)
        : goesOn && value.startsWith(text.slice(at)),
    );
  }

  #openFrom(text: string, from: number): number {
    let open = from;
    while (open < text.length && !this.#beginnings.has(text.slice(open))) open += 1;
    return open;
  }
}

const MAY_BITS = 12;
const MAY_MASK = (1 << MAY_BITS) - 1;

const HASH_BASE = 65_599;
/** HASH_BASE to the power of VALUE_CHARACTERS_MIN - 1, in 32 bits */
const HASH_FIRST = Array.from({ length: VALUE_CHARACTERS_MIN - 1 }).reduce<number>(
  (power) => Math.imul(power, HASH_BASE),
  1,
);

/** Hash of the VALUE_CHARACTERS_MIN characters from `at` on, fewer at the end of a text. */
function hashAt(text: string, at: number): number {
  let hash = 0;
  const end = Math.min(at + VALUE_CHARACTERS_MIN, text.length);
  for (let next = at; next < end; next++)
    hash = (Math.imul(hash, HASH_BASE) + text.charCodeAt(next)) | 0;
  return hash;
}

const rolled = (hash: number, gone: number, come: number): number =>
  (Math.imul(hash - Math.imul(gone, HASH_FIRST), HASH_BASE) + come) | 0;

function streamOf(pattern: Pattern): MaskedStream<string> {
  let waiting = '';
  return {
    add(piece) {
      if (pattern.isEmpty) return piece;
      const { masked, rest } = pattern.maskedSoFar(waiting + piece);
      waiting = rest;
      return masked;
    },
    end() {
      const rest = pattern.masked(waiting);
      waiting = '';
      return rest;
    },
  };
}

/** A value in each form that is masked. */
function spellingsOf(value: string): string[] {
  const lines = value.split(/\r?\n/);
  const parts =
    lines.length === 1
      ? [value]
      : [value, ...lines.filter((line) => line.length >= LINE_CHARACTERS_MIN && !isBanner(line))];
  return parts
    .filter((part) => part.length >= VALUE_CHARACTERS_MIN)
    .flatMap((part) => [
      part,
      JSON.stringify(part).slice(1, -1),
      inUrl(part),
      ...inHex(part),
      ...inBase64(part),
    ]);
}

const inHex = (text: string): string[] => {
  const hex = Buffer.from(text).toString('hex');
  return [hex, hex.toUpperCase()];
};

/**
 * The base64 characters that depend only on the value, for each of its three alignments, so that it
 * is also found within longer texts.
 */
const inBase64 = (text: string): string[] =>
  [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(text)]);
    const [begin, end] = [Math.ceil((before * 8) / 6), Math.floor((bytes.length * 8) / 6)];
    const encodings = ['base64', 'base64url'] as const;
    return encodings.map((encoding) => bytes.toString(encoding).slice(begin, end));
  });

/** `-----BEGIN PRIVATE KEY-----` */
const isBanner = (line: string): boolean => line.startsWith('-----');

/** Encodes bytes, because unpaired surrogates have no URL encoding. */
const inUrl = (text: string): string => encodeURIComponent(Buffer.from(text).toString());

/** A mask that knows no values. */
export const NO_SECRETS: SecretMask = createSecretMask([]);
