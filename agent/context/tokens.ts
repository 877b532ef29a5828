/**
 * Tokens: an estimate of how many tokens a text is for a model, without its tokenizer.
 *
 * Latin letters, digits and ASCII signs: 4 characters each; everything else (Chinese, Japanese,
 * Korean, Vietnamese letters with two marks, combining marks, other scripts): 1.5 characters each.
 * A rule of thumb, not a count: tokenizers take 3 to 5 characters of English or code per token, so
 * the estimate may be off by about a quarter either way there; of scripts that a tokenizer knows
 * well it says too much, up to twice. What a provider refuses as too long is compacted all the
 * same.
 */
import type { ModelMessage } from '../models/model.ts';

const LATIN_CHARACTERS_PER_TOKEN = 4;
const OTHER_CHARACTERS_PER_TOKEN = 1.5;
/** What one image costs at most with the providers that say so, at the sizes that doors let in. */
export const IMAGE_TOKENS = 1_600;
/** Role and separators of a message. */
const MESSAGE_TOKENS = 4;

/** Combining marks, Vietnamese (Latin Extended Additional), and all that is no Latin letter. */
const isOther = (unit: number): boolean =>
  unit >= 0x0250 && !(unit >= 0x2010 && unit <= 0x2027) && !(unit >= 0x1e00 && unit < 0x1ea0);

/** Rounded up; 0 for an empty text. */
export function tokensOf(text: string): number {
  let other = 0;
  for (let at = 0; at < text.length; at++) if (isOther(text.charCodeAt(at))) other++;
  const latin = text.length - other;
  return Math.ceil(latin / LATIN_CHARACTERS_PER_TOKEN + other / OTHER_CHARACTERS_PER_TOKEN);
}

export function messageTokens(message: ModelMessage): number {
  if (message.role === 'assistant') {
    const calls = message.calls?.length ? tokensOf(JSON.stringify(message.calls)) : 0;
    const blocks = message.continuation ? tokensOf(JSON.stringify(message.continuation.blocks)) : 0;
    return MESSAGE_TOKENS + Math.max(tokensOf(message.text) + calls, blocks);
  }
  const text = message.role === 'tool' ? message.result : message.text;
  return MESSAGE_TOKENS + tokensOf(text) + (message.images?.length ?? 0) * IMAGE_TOKENS;
}

export const messagesTokens = (messages: readonly ModelMessage[]): number =>
  messages.reduce((sum, message) => sum + messageTokens(message), 0);
