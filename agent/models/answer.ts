/**
 * Answer: the received part of one model answer. Adapters translate their provider's events into
 * calls of these methods; the shared stream loop takes the resulting events.
 *
 * Invariant: `done().text` is the concatenation of all emitted text deltas (model.ts, 1).
 */
import { defined } from '../../protocols/defined.ts';
import { isTooDeep } from '../../protocols/json-depth.ts';
import type {
  Continuation,
  ModelDone,
  ModelEvent,
  ModelStop,
  ModelUsage,
  ToolCall,
} from './model.ts';

/** An event that does not follow the provider's protocol. */
export class MalformedEvent extends Error {
  override readonly name = 'MalformedEvent';
}

/** The token counts of a provider; it may omit some. */
export type ReportedUsage = { readonly [Count in keyof ModelUsage]: number | null | undefined };

/** Maximum characters of one answer: text, reasoning and arguments. A longer stream is aborted. */
const ANSWER_CHARACTERS_MAX = 1_048_576;

type OpenCall = { id: string; name: string; json: string };

export class Answer {
  #text = '';
  #pending: ModelEvent[] = [];
  #calls = new Map<string | number, OpenCall>();
  #stop: ModelStop = 'end';
  #usage: ModelUsage = { inputTokens: 0, outputTokens: 0 };
  #continuation: Continuation | undefined;
  #ended = false;
  #characters = 0;

  /** Whether the provider sent the end of the answer. */
  get ended(): boolean {
    return this.#ended;
  }

  text(delta: string): void {
    this.#count(expectText(delta, 'text delta'));
    if (delta === '') return;
    this.#text += delta;
    this.#pending.push({ kind: 'text', delta });
  }

  reasoning(delta: string): void {
    this.#count(expectText(delta, 'reasoning delta'));
    if (delta !== '') this.#pending.push({ kind: 'reasoning', delta });
  }

  /**
   * Starts a tool call; `key` is the provider's index of it in this answer. Some servers use one id
   * for two calls. The later call gets another id, because results refer to calls by id.
   */
  openCall(key: string | number, id: string, name: string): void {
    expectText(id, 'call id');
    expectText(name, 'tool name');
    const others = [...this.#calls].flatMap(([at, call]) => (at === key ? [] : [call.id]));
    this.#calls.set(key, { id: otherThan(others, id), name, json: '' });
  }

  /** @throws MalformedEvent when no call was opened with this key */
  callArgs(key: string | number, delta: string): void {
    this.#callAt(key).json += this.#count(expectText(delta, 'arguments delta'));
  }

  /** Replaces the arguments received so far by the complete arguments. */
  wholeCallArgs(key: string | number, json: string): void {
    const call = this.#callAt(key);
    this.#characters -= call.json.length;
    call.json = this.#count(expectText(json, 'arguments'));
  }

  /** Later numbers replace earlier ones; undefined and null change nothing. */
  usage(reported: Partial<ReportedUsage>): void {
    const said = Object.entries(reported).filter(([, count]) => typeof count === 'number');
    this.#usage = { ...this.#usage, ...Object.fromEntries(said) };
  }

  stop(stop: ModelStop): void {
    this.#stop = stop;
  }

  continueWith(continuation: Continuation): void {
    this.#continuation = continuation;
  }

  end(): void {
    this.#ended = true;
  }

  /** Removes and returns the new events, in order. */
  take(): ModelEvent[] {
    const pending = this.#pending;
    this.#pending = [];
    return pending;
  }

  done(): ModelDone {
    const whole = this.#stop === 'end' || this.#stop === 'tools';
    const calls = whole ? [...this.#calls.values()].map(closeCall) : [];
    // it contains the truncated calls, which would never get results if it were sent back
    const continuation = whole || this.#calls.size === 0 ? this.#continuation : undefined;
    return {
      kind: 'done',
      text: this.#text,
      calls,
      // some servers report "stop" although the answer has tool calls
      stop: whole ? (calls.length > 0 ? 'tools' : 'end') : this.#stop,
      usage: withoutZeros(this.#usage),
      ...defined({ continuation }),
    };
  }

  #count(text: string): string {
    this.#characters += text.length;
    if (this.#characters <= ANSWER_CHARACTERS_MAX) return text;
    throw new MalformedEvent(`an answer of more than ${ANSWER_CHARACTERS_MAX} characters`);
  }

  #callAt(key: string | number): OpenCall {
    const call = this.#calls.get(key);
    if (call === undefined)
      throw new MalformedEvent(`arguments for a tool call ${key} that was not opened`);
    return call;
  }
}

/** Omits cache counts of zero. */
const withoutZeros = ({
  cachedInputTokens,
  cacheWriteTokens,
  ...usage
}: ModelUsage): ModelUsage => ({
  ...usage,
  ...(cachedInputTokens ? { cachedInputTokens } : {}),
  ...(cacheWriteTokens ? { cacheWriteTokens } : {}),
});

const otherThan = (ids: readonly string[], id: string): string => {
  if (!ids.includes(id)) return id;
  let count = 2;
  while (ids.includes(`${id}_${count}`)) count++;
  return `${id}_${count}`;
};

const closeCall = ({ id, name, json }: OpenCall): ToolCall => ({ id, name, args: parseArgs(json) });

/** Arguments are stored within other values, which may be nested 100 levels deep. */
const ARGS_DEPTH_MAX = 64;

/**
 * Models may write invalid JSON, or JSON that cannot be stored; the tool's validation then reports
 * it to the model.
 */
export const parseArgs = (json: string): unknown => {
  if (json.trim() === '') return {};
  if (isTooDeep(json, ARGS_DEPTH_MAX)) return json;
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return json;
  }
};

/** @throws MalformedEvent unless `value` is a string */
export const expectText = (value: unknown, what: string): string => {
  if (typeof value === 'string') return value;
  throw new MalformedEvent(`${what} is ${value === null ? 'null' : typeof value}, not text`);
};
