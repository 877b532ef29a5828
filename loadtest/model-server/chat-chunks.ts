/** The events of OpenAI's streaming Chat Completions, as objects. */

/** One event `chat.completion.chunk`. */
export const chatChunk = (model: unknown, choices: readonly unknown[], usage: unknown = null) => ({
  id: 'chatcmpl_1',
  object: 'chat.completion.chunk',
  created: 1,
  model,
  choices,
  usage,
});

export const chatChoice = (delta: unknown, finish: string | null = null) => [
  { index: 0, delta, finish_reason: finish, logprobs: null },
];

export const chatUsage = (inputTokens: number, outputTokens: number, cachedTokens = 0) => ({
  prompt_tokens: inputTokens,
  completion_tokens: outputTokens,
  total_tokens: inputTokens + outputTokens,
  prompt_tokens_details: { cached_tokens: cachedTokens },
});

/** The body of an error answer. @param type default by status */
export const chatError = (status: number, type: string | undefined, message: string) => ({
  error: { message, type: type ?? 'server_error', param: null, code: type ?? String(status) },
});
