/**
 * Reads the chunks of Chat Completions as servers actually send them. One reader per call.
 *
 * Deviations from OpenAI's own stream that it accepts:
 *  - reasoning in `reasoning_content` or `reasoning`; it is sent back with calls (some servers
 *    refuse a history without it);
 *  - a tool call without id or index, with gaps between indexes, with its name after its first
 *    arguments, with one index for several calls, or with arguments that are already an object;
 *  - a non-standard `finish_reason`; usage in every chunk, in the last one, or missing: then it is
 *    estimated, because budgets need it.
 */
import type { ChatCompletionChunk, CompletionUsage } from 'openai/resources';
import { type Answer, expectText, MalformedEvent } from './answer.ts';
import { type Origin, portableId } from './conversation.ts';
import { ReportedError } from './failure.ts';
import type { ModelStop } from './model.ts';

/** The protocol does not define reasoning; servers use these two fields. */
type Delta = ChatCompletionChunk.Choice.Delta & { reasoning_content?: string; reasoning?: string };
type CallDelta = Omit<ChatCompletionChunk.Choice.Delta.ToolCall, 'index'> & { index?: number };
/** DeepSeek's count of cached tokens. */
type Usage = CompletionUsage & { prompt_cache_hit_tokens?: number };

type OpenCall = { id: string; name: string; json: string };

const stops: Readonly<Record<string, ModelStop>> = {
  tool_calls: 'tools',
  function_call: 'tools',
  length: 'length',
  max_tokens: 'length',
  model_length: 'length',
  content_filter: 'refusal',
  safety: 'refusal',
  sensitive: 'refusal',
  refusal: 'refusal',
};

/** An answer with this end is a failure. */
const failures = new Set(['error', 'network_error', 'insufficient_system_resource']);

const charactersPerToken = 4;

export class ChunkReader {
  readonly #callPrefix: string;
  readonly #origin: Origin;
  readonly #inputEstimate: number;
  readonly #calls: OpenCall[] = [];
  readonly #callAtIndex = new Map<number, OpenCall>();
  #reasoning: { field: string; text: string } | undefined;
  #characters = 0;
  #counted = false;

  /** `callPrefix` makes unique ids for calls without one */
  constructor(callPrefix: string, origin: Origin, inputEstimate: number) {
    this.#callPrefix = callPrefix;
    this.#origin = origin;
    this.#inputEstimate = inputEstimate;
  }

  /** `finish_reason` ends the answer; a last chunk without choices may contain the usage. */
  read(chunk: ChatCompletionChunk, answer: Answer): void {
    this.#readUsage(chunk.usage, answer);
    const choices: unknown = chunk.choices ?? [];
    if (!Array.isArray(choices)) throw new MalformedEvent('choices is not a list');
    const choice = chunk.choices?.[0];
    if (choice === undefined) return;
    this.#readDelta(choice.delta ?? {}, answer);
    if (choice.finish_reason) this.#readEnd(choice.finish_reason, answer);
  }

  #readUsage(usage: Usage | null | undefined, answer: Answer): void {
    if (!usage) return;
    this.#counted ||= typeof usage.prompt_tokens === 'number' && usage.prompt_tokens > 0;
    answer.usage({
      inputTokens: usage.prompt_tokens,
      outputTokens: usage.completion_tokens,
      cachedInputTokens:
        usage.prompt_tokens_details?.cached_tokens ?? usage.prompt_cache_hit_tokens,
    });
  }

  #readDelta(delta: Delta, answer: Answer): void {
    const field = delta.reasoning_content ? 'reasoning_content' : 'reasoning';
    const reasoning = delta[field];
    if (reasoning) {
      answer.reasoning(reasoning);
      this.#reasoning ??= { field, text: '' };
      this.#reasoning.text += reasoning;
      this.#characters += reasoning.length;
    }
    for (const text of [delta.content, delta.refusal]) {
      if (text == null) continue;
      answer.text(text);
      this.#characters += text.length;
    }
    if (delta.refusal) answer.stop('refusal');
    for (const call of (delta.tool_calls ?? []) as CallDelta[]) this.#readCall(call);
  }

  #readCall(delta: CallDelta): void {
    const call = this.#callFor(delta);
    if (delta.id) call.id = delta.id;
    if (delta.function?.name) call.name = expectText(delta.function.name, 'tool name');
    const args: unknown = delta.function?.arguments ?? '';
    call.json += typeof args === 'string' ? args : JSON.stringify(args);
  }

  /** A new id at a known index starts another call. */
  #callFor({ id, index }: CallDelta): OpenCall {
    const known = index === undefined ? this.#calls.at(-1) : this.#callAtIndex.get(index);
    const continues = known !== undefined && (!id || known.id === '' || known.id === id);
    const call = continues ? known : { id: '', name: '', json: '' };
    if (!continues) this.#calls.push(call);
    if (index !== undefined) this.#callAtIndex.set(index, call);
    return call;
  }

  #readEnd(reason: string, answer: Answer): void {
    if (failures.has(reason)) throw new ReportedError(reason, 'the server ended with an error');
    for (const [at, { id, name, json }] of this.#calls.entries()) {
      if (name === '') throw new MalformedEvent('a tool call without a name');
      answer.openCall(at, id || portableId(`${this.#callPrefix}_${at}`), name);
      answer.wholeCallArgs(at, json);
      this.#characters += json.length;
    }
    if (this.#reasoning && this.#calls.length > 0) {
      const { field, text } = this.#reasoning;
      answer.continueWith({ ...this.#origin, blocks: [{ [field]: text }] });
    }
    if (!this.#counted) {
      const outputTokens = Math.ceil(this.#characters / charactersPerToken);
      answer.usage({ inputTokens: this.#inputEstimate, outputTokens });
    }
    const stop = stops[reason];
    if (stop) answer.stop(stop);
    answer.end();
  }
}
