/**
 * Pruning: shortens tool results in a model request. They are the largest part of a long
 * conversation and lose their value first. The transcript keeps them complete. Pure.
 *
 * When the messages fill more than half of the room, results before the last turns lose their
 * middle. While the messages do not fit, pruning continues in this order: omit those results,
 * shorten results of the last turns, omit results of all but the newest turn; the oldest first. No
 * other message changes. Pruning a pruned conversation changes nothing.
 */
import type { ModelMessage } from '../models/model.ts';
import { unmarked, marked } from './envelope.ts';
import { cutMiddle } from './cut.ts';
import { messageTokens } from './tokens.ts';

/** Number of newest turns (a user message and what follows it) whose results are shortened last. */
const TURNS_WHOLE = 3;
const SOFT_SHARE = 0.5;
/** Longer results are cut to this number of characters. */
export const RESULT_CHARACTERS_KEPT = 4_000;
const LEFT_OUT = '[An old result was removed. Run the tool again if you need it.]';

/**
 * @param room tokens for all messages; the result may still be too large, and the caller refuses it
 */
export function pruned(messages: readonly ModelMessage[], room: number): Pruned {
  const work = new Pruning(messages);
  if (work.tokens <= room * SOFT_SHARE) return work;
  const recent = startOfTurn(messages, TURNS_WHOLE);
  work.cut(0, recent, shortened, -Infinity);
  work.cut(0, recent, leftOut, room);
  work.cut(recent, messages.length, shortened, room);
  work.cut(recent, startOfTurn(messages, 1), leftOut, room);
  return work;
}

/** Messages and the estimate of their tokens. */
export type Pruned = { readonly messages: ModelMessage[]; readonly tokens: number };

class Pruning {
  readonly messages: ModelMessage[];
  tokens = 0;
  readonly #each: number[];

  constructor(messages: readonly ModelMessage[]) {
    this.messages = [...messages];
    this.#each = this.messages.map(messageTokens);
    for (const tokens of this.#each) this.tokens += tokens;
  }

  /** Shortens the oldest results first, until at most `until` tokens remain. */
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

/** Index where the last `turns` turns begin; 0 when there are fewer. */
function startOfTurn(messages: readonly ModelMessage[], turns: number): number {
  let left = turns;
  for (let at = messages.length - 1; at >= 0; at--)
    if (messages[at]!.role === 'user' && --left === 0) return at;
  return 0;
}
