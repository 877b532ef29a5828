/**
 * BlockChunker: cuts a growing answer into blocks that can be sent as separate messages. Pure: text
 * in, blocks out.
 *
 * Invariants:
 *  1. Blocks follow each other without a gap: `from` of one is `to` of the one before, and all
 *     together they are the text.
 *  2. A block that must end inside fenced code closes the fence, and the next opens it again with
 *     its language: every block is whole markdown. Nothing else is added or left out.
 *  3. No cut splits what is read as one character: surrogate pairs, combining marks, joined emoji.
 *  4. Blocks have at least `charactersMin` characters but for the last one of a text, and at most
 *     `charactersMax` (what invariant 2 adds apart), unless there is no place to cut.
 */
import { afterLine, type Fence, looksLikeFence } from './fences.ts';

export type BlockOptions = {
  /**
   * When blocks are published: `text_end` while the text is written and at its end, `message_end`
   * all of them when the model call has ended.
   */
  readonly breakAt: 'text_end' | 'message_end';
  readonly charactersMin: number;
  readonly charactersMax: number;
  /** the preferred place for the end of a block; other places are used when the block is full */
  readonly prefer: 'paragraph' | 'newline' | 'sentence';
};

export const BLOCK_DEFAULTS: BlockOptions = {
  breakAt: 'text_end',
  charactersMin: 800,
  charactersMax: 1_200,
  prefer: 'paragraph',
};

export type Block = {
  /** markdown that is valid on its own */
  readonly text: string;
  /** positions in the answer */
  readonly from: number;
  readonly to: number;
};

type Kind = 'paragraph' | 'newline' | 'sentence' | 'space' | 'any';
/** A place to cut, with the fence that is open there. */
type Cut = { readonly at: number; readonly fence: Fence | undefined };

const ORDER: readonly Kind[] = ['paragraph', 'newline', 'sentence', 'space', 'any'];
/** Characters after a cut that must be known: the marks of a fence are three. */
const LOOK_AHEAD = 3;
/** How much of a complete text is read behind the place where a block is full. */
const READ_BEHIND = 256;
/** How long the end of a line of fence marks is awaited, in `charactersMax`. */
const PATIENCE = 4;

/** Created with the first cut, because it reads 2 MB of Unicode data. */
let segmenter: Intl.Segmenter | undefined;
const graphemes = () => (segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' }));

export class BlockChunker {
  readonly #options: BlockOptions;
  /** of the text that is not in a block yet */
  #rest = '';
  #from = 0;
  /** the fence that is open at the start of `#rest` */
  #fence: Fence | undefined;

  constructor(options: Partial<BlockOptions> = {}) {
    this.#options = { ...BLOCK_DEFAULTS, ...options };
  }

  /** Characters that are in blocks. */
  get published(): number {
    return this.#from;
  }

  /** Accepts further text. Returns the blocks that it completes. */
  push(text: string): readonly Block[] {
    this.#rest += text;
    return this.#options.breakAt === 'message_end' ? [] : this.#cutAll(false);
  }

  /** Ends the text. Returns the rest in as many blocks as necessary. */
  end(): readonly Block[] {
    const blocks = this.#cutAll(true);
    if (this.#rest === '') return blocks;
    return [...blocks, this.#take(endOf(this.#rest, this.#fence))];
  }

  /** Forgets text that is in no block yet: the text continues differently from `published`. */
  forgetRest(): void {
    this.#rest = '';
  }

  #cutAll(isEnd: boolean): Block[] {
    const blocks: Block[] = [];
    for (;;) {
      const cut = findCut(this.#rest, this.#fence, this.#options, isEnd);
      if (cut === undefined) return blocks;
      blocks.push(this.#take(cut));
    }
  }

  #take({ at, fence }: Cut): Block {
    const text = wholeBlock(this.#rest.slice(0, at), this.#fence, fence);
    const block = { text, from: this.#from, to: this.#from + at };
    this.#rest = this.#rest.slice(at);
    this.#from = block.to;
    this.#fence = fence;
    return block;
  }
}

/** A block as markdown of its own. @param open the fence before it @param left the fence behind */
export function wholeBlock(text: string, open: Fence | undefined, left: Fence | undefined): string {
  const opening = open === undefined ? '' : `${open.opening}\n`;
  const closing = left === undefined ? '' : `${text.endsWith('\n') ? '' : '\n'}${left.closing}\n`;
  return `${opening}${text}${closing}`;
}

/**
 * Where the first block of a complete text ends: after at most `charactersMax` characters and, if
 * there is a place to cut, after at least half of them. Reads no more of the text than that.
 */
export function cutWithin(text: string, open: Fence | undefined, charactersMax: number): Cut {
  if (text.length <= charactersMax) return endOf(text, open);
  const read = text.slice(0, charactersMax + READ_BEHIND);
  const min = Math.ceil(charactersMax / 2);
  const places = placesOf(read, open, min, read.length - LOOK_AHEAD, charactersMax);
  return bestOf(places, charactersMax, 'paragraph') ?? cutAnywhere(text, open, charactersMax);
}

/** Within a line that must not be cut: only surrogate pairs stay whole. */
function cutAnywhere(text: string, open: Fence | undefined, max: number): Cut {
  const splitsPair = /^[\ud800-\udbff][\udc00-\udfff]/.test(text.slice(max - 1, max + 1));
  const at = splitsPair ? Math.max(2, max - 1) : max;
  return { at, fence: endOf(text.slice(0, text.lastIndexOf('\n', at - 1) + 1), open).fence };
}

function endOf(text: string, open: Fence | undefined): Cut {
  let fence = open;
  for (const line of text.split('\n')) fence = afterLine(fence, line);
  return { at: text.length, fence };
}

/** Where the next block ends; undefined if it is not complete. */
const findCut = (
  text: string,
  open: Fence | undefined,
  { charactersMin, charactersMax, prefer }: BlockOptions,
  isEnd: boolean,
): Cut | undefined => {
  if (text.length <= charactersMin) return undefined;
  const isFull = text.length > charactersMax;
  if (!isFull && isEnd) return undefined;
  const known = isEnd ? text.length - 1 : text.length - LOOK_AHEAD;
  const cuts = placesOf(text, open, Math.max(1, charactersMin), known, charactersMax);
  const preferred = cuts.find(({ kind, at, fence }) => {
    return fence === undefined && kind === prefer && at <= charactersMax;
  });
  if (preferred !== undefined) return preferred;
  if (!isFull || known < charactersMax) return undefined;
  return bestOf(cuts, charactersMax, prefer) ?? firstAfter(cuts, charactersMax);
};

type Place = Cut & { readonly kind: Kind };

/** The last place of the best kind; outside of fenced code before inside. */
const bestOf = (cuts: readonly Place[], max: number, prefer: Kind): Place | undefined => {
  const fitting = cuts.filter(({ at }) => at <= max);
  const kinds = ORDER.slice(ORDER.indexOf(prefer));
  const outside = kinds.filter((kind) => kind !== 'space' && kind !== 'any');
  for (const kind of outside) {
    const found = fitting.findLast((cut) => cut.fence === undefined && cut.kind === kind);
    if (found) return found;
  }
  const line = fitting.findLast(({ kind }) => kind === 'newline' || kind === 'paragraph');
  return line ?? fitting.findLast(({ kind }) => kind === 'space') ?? fitting.findLast(() => true);
};

const firstAfter = (cuts: readonly Place[], max: number): Place | undefined =>
  cuts.find(({ at }) => at > max);

/**
 * Every place from `min` on where the text may be cut, in order. Single characters count only from
 * where a block is full, and only as far as needed to find one.
 */
const placesOf = (
  text: string,
  open: Fence | undefined,
  min: number,
  known: number,
  max: number,
): readonly Place[] => {
  const places: Place[] = [];
  let fence = open;
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf('\n', start);
    const end = newline < 0 ? text.length : newline;
    const line = text.slice(start, end);
    if (end >= min && (!looksLikeFence(line) || line.length > max * PATIENCE)) {
      places.push(...withinLine({ text, start, end, fence }, min, known, max));
    }
    if (newline < 0) break;
    const before = fence;
    fence = afterLine(before, line);
    const at = newline + 1;
    // Right behind an opening line the block would end with an empty fence.
    const opens = fence !== undefined && before === undefined;
    if (at >= min && at <= known && !opens) {
      places.push({ at, fence, kind: line.trim() === '' ? 'paragraph' : 'newline' });
    }
    if (places.some((place) => place.at > max)) break;
    start = at;
  }
  return places;
};

type Line = {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly fence: Fence | undefined;
};

/** How far a line is looked at behind the place where a block is full. */
const BEHIND_MAX = 4_096;

const SENTENCE_END = /[.!?…]["'”’)\]]*\s$|[。！？．｡][」』）”’]?$/u;

/** Cuts between two characters of a line. The rest must not become a fence by standing alone. */
const withinLine = (
  { text, start, end, fence }: Line,
  min: number,
  known: number,
  max: number,
): Place[] => {
  const places: Place[] = [];
  const line = text.slice(start, end);
  // of a long line only as much is searched as one block can contain; the rest is searched later
  const looked = line.slice(0, Math.max(0, max - start) + BEHIND_MAX);
  for (const { index } of graphemes().segment(looked)) {
    const at = start + index;
    // the search may end in the middle of a character
    if (at > known || (looked.length < line.length && index > looked.length - 2)) break;
    if (index === 0 || at < min || beginsFence(line, index)) continue;
    const before = line.slice(Math.max(0, index - 8), index);
    const kind = SENTENCE_END.test(before) ? 'sentence' : /\s$/.test(before) ? 'space' : 'any';
    places.push({ at, fence, kind });
    if (at > max) break;
  }
  return places;
};

/** Whether the following text would be a fence at the beginning of a line. */
const beginsFence = (line: string, at: number): boolean => {
  const first = line[at];
  if (first === '`' || first === '~') return looksLikeFence(line.slice(at, at + LOOK_AHEAD));
  return (first === ' ' || first === '\t') && looksLikeFence(line.slice(at, at + BEHIND_MAX));
};
