/**
 * The client that shows this page, by JSON-RPC over `postMessage` (MCP Apps, 2026-01-26). Messages
 * of other windows are ignored.
 */
type Message = {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly message?: string };
};
type Waiting = { resolve(result: unknown): void; reject(error: Error): void };

const METHOD_NOT_FOUND = -32_601;

export class Host {
  readonly #waiting = new Map<string | number, Waiting>();
  readonly #answer: (method: string, params: unknown) => object | undefined;
  #last = 0;

  /**
   * @param answer is called for each request and notification; its result answers a request,
   *   undefined: there is no such method
   */
  constructor(answer: (method: string, params: unknown) => object | undefined) {
    this.#answer = answer;
    window.addEventListener('message', ({ source, data }: MessageEvent<unknown>) => {
      if (source === window.parent && isMessage(data)) this.#receive(data);
    });
  }

  /** @throws Error what the client answered */
  request(method: string, params: object): Promise<unknown> {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      post({ id, method, params });
    });
  }

  notify(method: string, params: object): void {
    post({ method, params });
  }

  #receive({ id, method, params, result, error }: Message): void {
    if (method !== undefined) {
      const answer = this.#answer(method, params);
      if (id === undefined) return;
      const unknown = { error: { code: METHOD_NOT_FOUND, message: `no method ${method}` } };
      post({ id, ...(answer ? { result: answer } : unknown) });
      return;
    }
    const waiting = id === undefined ? undefined : this.#waiting.get(id);
    if (!waiting) return;
    this.#waiting.delete(id!);
    if (error) waiting.reject(new Error(error.message ?? 'the client refused'));
    else waiting.resolve(result);
  }
}

/** To any origin, because a sandboxed page cannot know its client's. It holds no secret. */
const post = (message: object): void =>
  window.parent.postMessage({ jsonrpc: '2.0', ...message }, '*');

const isMessage = (data: unknown): data is Message =>
  typeof data === 'object' && data !== null && (data as { jsonrpc?: unknown }).jsonrpc === '2.0';
