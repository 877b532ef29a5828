/** grammY's client of the Bot API, imported with the first request. It repeats no request. */
import type { Api } from 'grammy';

export type ClientOptions = {
  readonly token: string;
  /** without a slash at the end */
  readonly apiRoot: string;
  /** limit of each request */
  readonly timeoutSeconds: number;
};

export async function openClient({ token, ...options }: ClientOptions): Promise<Api> {
  const { Api: Client } = await import('grammy');
  return new Client(token, options);
}

type ApiSignal = NonNullable<Parameters<Api['getMe']>[0]>;

/** grammY declares the signal of a polyfill, and uses only its `abort` event and `aborted`. */
export const apiSignal = (signal: AbortSignal): ApiSignal => signal as ApiSignal;
