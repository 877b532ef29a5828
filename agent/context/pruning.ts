/**
 * Pruning: cuts results of tools, which are the bulk of a long conversation and the first thing
 * that is of no use any more. The transcript keeps them whole. Pure.
 *
 * In this order, and no further than needed: results before the last turns are cut to beginning and
 * end when all passes half of the room; when all does not fit: those are left out, then results of
 * the last turns are cut, oldest first. Nothing else is ever touched. Pruning what was pruned
 * changes nothing.
 */
import type { ModelMessage } from '../models/model.ts';
import { unmarked, marked } from './envelope.ts';
import { cutMiddle } from './cut.ts';
import { messageTokens } from './tokens.ts';

/** Turns (a message of a person and what follows it) whose results stay whole at first. */
const TURNS_WHOLE = 3;
const SOFT_SHARE = 0.5;
/** A result that is longer is cut to so many characters. */
export const RESULT_CHARACTERS_KEPT = 4_000;
const LEFT_OUT = '[An old result, left out. Run the tool again if you need it.]';

/** @param room tokens for all messages; what does not fit even so is the caller's to refuse */
export function pruned(messages: readonly ModelMessage[], room: number): ModelMessage[] {
  const work = new Pruning(messages);
  if (work.tokens <= room * SOFT_SHARE) return work.messages;
  const recent = startOfTurn(messages, TURNS_WHOLE);
  work.cut(0, recent, shortened, -Infinity);
  work.cut(0, recent, leftOut, room);
  work.cut(recent, messages.length, shortened, room);
  work.cut(recent, startOfTurn(messages, 1), leftOut, room);
  return work.messages;
}

class Pruning {
  readonly messages: ModelMessage[];
  tokens = 0;
  readonly #each: number[];

  constructor(messages: readonly ModelMessage[]) {
    this.messages = [...messages];
    this.#each = this.messages.map(messageTokens);
    for (const tokens of this.#each) this.tokens += tokens;
  }

  /** Oldest first, while there are more tokens than `until`. */
  cut(from: number, to: number, shorten: (message: Result) => Result, until: number): void {
    for (let at = from; at < to && this.tokens > until; at++) {
      const message = this.messages[at]!;
      if (message.role !== 'tool') continue;
      const shorter = shorten(message);
      const tokens = messageTokens(shorter);
      if (tokens >= this.#each[at]!) continue;
      this.tokens += tokens - this.#each[at]!;
      this.#each[at] = tokens;
      this.messages[at] = shorter;
    }
  }
}

type Result = Extract<ModelMessage, { role: 'tool' }>;

const shortened = (message: Result): Result => {
  const text = unmarked(message.result);
  const cut = cutMiddle(text, RESULT_CHARACTERS_KEPT);
  if (cut === text && !message.images) return message;
  const { images: _, ...rest } = message;
  return { ...rest, result: marked(message.name, cut) };
};

const leftOut = ({ images: _, ...rest }: Result): Result => ({ ...rest, result: LEFT_OUT });

/** Where the last `turns` turns begin; 0 when there are no more. */
function startOfTurn(messages: readonly ModelMessage[], turns: number): number {
  let left = turns;
  for (let at = messages.length - 1; at >= 0; at--)
    if (messages[at]!.role === 'user' && --left === 0) return at;
  return 0;
}
