/**
 * Tokens: estimates the number of tokens of a text without the model's tokenizer.
 *
 * Latin letters, digits and ASCII signs count 4 characters per token. Everything else (Chinese,
 * Japanese, Korean, Vietnamese letters with two marks, combining marks, other scripts) counts 1.5
 * characters per token. Tokenizers use 3 to 5 characters of English or code per token, so the
 * estimate may be wrong by about a quarter. For scripts that a tokenizer supports well it may be up
 * to twice the true number. A request that a provider refuses as too long is compacted in any case.
 */
import type { ModelMessage } from '../models/model.ts';

const LATIN_CHARACTERS_PER_TOKEN = 4;
const OTHER_CHARACTERS_PER_TOKEN = 1.5;
/**
 * Maximum cost of one image at the providers that document it, at the image sizes that entry points
 * accept.
 */
export const IMAGE_TOKENS = 1_600;
/** Role and separators of a message. */
const MESSAGE_TOKENS = 4;

/** Combining marks, Vietnamese (Latin Extended Additional), and all characters outside Latin. */
const isOther = (unit: number): boolean =>
  unit >= 0x0250 && !(unit >= 0x2010 && unit <= 0x2027) && !(unit >= 0x1e00 && unit < 0x1ea0);

/** Rounded up; 0 for an empty text. */
export function tokensOf(text: string): number {
  let other = 0;
  for (let at = 0; at < text.length; at++) if (isOther(text.charCodeAt(at))) other++;
  const latin = text.length - other;
  return Math.ceil(latin / LATIN_CHARACTERS_PER_TOKEN + other / OTHER_CHARACTERS_PER_TOKEN);
}

/** The last system prompt and its tokens: most calls have the same one, and it is long. */
let counted = { system: '', tokens: 0 };

/** `tokensOf` of a system prompt. */
export function systemTokensOf(system: string): number {
  if (system !== counted.system) counted = { system, tokens: tokensOf(system) };
  return counted.tokens;
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
