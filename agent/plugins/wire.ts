/**
 * The messages between troupe and the process of a plugin: one JSON object per line, over one pipe.
 *
 * Boundary: types and limits, used on both sides. What troupe accepts from a plugin is checked by
 * child-messages.ts.
 */

/** Longest message, bytes of UTF-8; a longer one is refused by its sender. */
export const MESSAGE_BYTES_MAX = 16 * 1_048_576;

/** The longest wait that an error may ask for, milliseconds. */
export const RETRY_AFTER_MS_MAX = 86_400_000;

/** What a call is for: a tool, provider or channel by its name, a hook by the name of the hook. */
export type CallKind = 'tool' | 'hook' | 'provider' | 'channel';

export type HostMessage =
  | {
      readonly type: 'start';
      readonly id: string;
      readonly config: Readonly<Record<string, unknown>>;
      readonly secrets: Readonly<Record<string, string>>;
    }
  | {
      readonly type: 'call';
      readonly call: number;
      readonly kind: CallKind;
      readonly name: string;
      readonly input: unknown;
      readonly about: Readonly<Record<string, unknown>>;
      readonly timeoutMs: number;
    }
  | { readonly type: 'cancel'; readonly call: number }
  /** to an event with `ask`: it was accepted, unless there is an error */
  | {
      readonly type: 'reply';
      readonly call: number;
      readonly ask: number;
      readonly error?: { readonly code: string; readonly message: string };
    }
  | { readonly type: 'ping'; readonly beat: number }
  | { readonly type: 'stop' };

/** What the code defines, to be compared with the manifest. */
export type Defined = {
  readonly name: string;
  readonly version: string;
  readonly tools: readonly string[];
  readonly hooks: readonly string[];
  readonly providers: readonly string[];
  readonly channels: readonly string[];
};

export type PluginMessage =
  | ({ readonly type: 'ready' } & Defined)
  /** the code could not be loaded or started */
  | { readonly type: 'failed'; readonly message: string }
  | { readonly type: 'result'; readonly call: number; readonly value?: unknown }
  | {
      readonly type: 'error';
      readonly call: number;
      readonly message: string;
      readonly code?: string;
      readonly retryAfterMs?: number;
    }
  /**
   * progress of a tool, an event of a model's answer, or of the connection of a channel. With `ask`
   * it requests a reply
   */
  | {
      readonly type: 'event';
      readonly call: number;
      readonly event: unknown;
      readonly ask?: number;
    }
  | { readonly type: 'pong'; readonly beat: number };

/** Collects lines from chunks of bytes. */
export class LineBuffer {
  #parts: Buffer[] = [];
  #bytes = 0;

  /** Bytes of the line that has not ended yet. */
  get pendingBytes(): number {
    return this.#bytes;
  }

  /** The lines that end in this chunk, without their line breaks. */
  add(chunk: Buffer): string[] {
    const lines: string[] = [];
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      this.#keep(chunk.subarray(from, at));
      lines.push(this.flush());
      from = at + 1;
    }
    this.#keep(chunk.subarray(from));
    return lines;
  }

  /** Removes and returns the line that has not ended. */
  flush(): string {
    const line = Buffer.concat(this.#parts).toString('utf8');
    this.#parts = [];
    this.#bytes = 0;
    return line;
  }

  #keep(part: Buffer): void {
    if (part.length === 0) return;
    this.#parts.push(part);
    this.#bytes += part.length;
  }
}
