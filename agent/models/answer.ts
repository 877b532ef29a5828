/**
 * Answer: what has been heard of one model answer so far. The adapters translate their provider's
 * events into calls of these methods; the shared stream loop takes the events out.
 *
 * Invariant: `done().text` is the concatenation of every text delta handed out (model.ts, 1).
 */
import { defined } from '../../protocols/defined.ts';
import type {
  Continuation,
  ModelDone,
  ModelEvent,
  ModelStop,
  ModelUsage,
  ToolCall,
} from './model.ts';

/** An event whose form the protocol does not know. */
export class MalformedEvent extends Error {
  override readonly name = 'MalformedEvent';
}

/** What a provider counted, as far as it said so. */
export type HeardUsage = { readonly [Count in keyof ModelUsage]: number | null | undefined };

/** Of one answer: words, reasoning and arguments. A server that never ends is given up. */
const ANSWER_CHARACTERS_MAX = 1_048_576;

type OpenCall = { id: string; name: string; json: string };

export class Answer {
  #text = '';
  #heard: ModelEvent[] = [];
  #calls = new Map<string | number, OpenCall>();
  #stop: ModelStop = 'end';
  #usage: ModelUsage = { inputTokens: 0, outputTokens: 0 };
  #continuation: Continuation | undefined;
  #ended = false;
  #characters = 0;

  /** The provider said that the answer is whole. */
  get ended(): boolean {
    return this.#ended;
  }

  text(delta: string): void {
    this.#count(expectText(delta, 'text delta'));
    if (delta === '') return;
    this.#text += delta;
    this.#heard.push({ kind: 'text', delta });
  }

  reasoning(delta: string): void {
    this.#count(expectText(delta, 'reasoning delta'));
    if (delta !== '') this.#heard.push({ kind: 'reasoning', delta });
  }

  /**
   * A tool call begins; `key` is the provider's place for it in this answer. Some servers give two
   * calls one id: the later gets another, for results find their calls by it.
   */
  openCall(key: string | number, id: string, name: string): void {
    expectText(id, 'call id');
    expectText(name, 'tool name');
    const others = [...this.#calls].flatMap(([at, call]) => (at === key ? [] : [call.id]));
    this.#calls.set(key, { id: otherThan(others, id), name, json: '' });
  }

  /** @throws MalformedEvent when no call was opened there */
  callArgs(key: string | number, delta: string): void {
    this.#callAt(key).json += this.#count(expectText(delta, 'arguments delta'));
  }

  /** The whole arguments, in place of what the deltas said. */
  wholeCallArgs(key: string | number, json: string): void {
    const call = this.#callAt(key);
    this.#characters -= call.json.length;
    call.json = this.#count(expectText(json, 'arguments'));
  }

  hasCall(key: string | number): boolean {
    return this.#calls.has(key);
  }

  /** Later numbers replace earlier ones; undefined and null keep them. */
  usage(heard: Partial<HeardUsage>): void {
    const said = Object.entries(heard).filter(([, count]) => typeof count === 'number');
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

  /** The events heard since the last take, in order. */
  take(): ModelEvent[] {
    const heard = this.#heard;
    this.#heard = [];
    return heard;
  }

  done(): ModelDone {
    const whole = this.#stop === 'end' || this.#stop === 'tools';
    const calls = whole ? [...this.#calls.values()].map(closeCall) : [];
    // it holds the calls that were cut off: sent back, they would lack their results for ever
    const continuation = whole || this.#calls.size === 0 ? this.#continuation : undefined;
    return {
      kind: 'done',
      text: this.#text,
      calls,
      // some servers say "stop" although they ask for tools
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
      throw new MalformedEvent(`arguments for a tool call ${key} never begun`);
    return call;
  }
}

/** Nothing cached is nothing to say. */
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

/** Models do write broken JSON; the tool's own check then tells them so, in their words. */
const parseArgs = (json: string): unknown => {
  if (json.trim() === '') return {};
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return json;
  }
};

/** @throws MalformedEvent unless `value` is a text */
export const expectText = (value: unknown, what: string): string => {
  if (typeof value === 'string') return value;
  throw new MalformedEvent(`${what} is ${value === null ? 'null' : typeof value}, not text`);
};
