/** Server-sent events of a gateway, for commands that watch. */
import { type ClientOptions, gatewayOf } from '../options.ts';
import { failureOf, httpOf, parsed, refusalOf } from './gateway-http.ts';

/**
 * Opens the stream and yields the data of its events, until the gateway ends it or `signal` is
 * aborted.
 * @param path including the query
 * @throws TroupeError as `GatewayHttp`
 */
export async function gatewayStream<T>(
  options: ClientOptions,
  path: string,
  signal: AbortSignal,
): Promise<AsyncIterable<T>> {
  const { url, token, password } = await gatewayOf(options);
  const origin = httpOf(url);
  const secret = token ?? password;
  const headers = {
    accept: 'text/event-stream',
    ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
  };
  const response = await fetch(`${origin}${path}`, { headers, signal, redirect: 'error' }).catch(
    (cause: unknown) => {
      throw failureOf(cause, origin);
    },
  );
  const { body, status } = response;
  if (!response.ok || body === null)
    throw refusalOf(parsed(await response.text()), status, `${origin}${path}`);
  return dataOf<T>(body, signal);
}

/** The data of events, which ours and those of MCP have in one line. */
export async function* dataOf<T>(body: ReadableStream, signal: AbortSignal): AsyncIterable<T> {
  let rest = '';
  try {
    for await (const text of body.pipeThrough(new TextDecoderStream())) {
      const lines = `${rest}${text}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines)
        if (line.startsWith('data: ')) yield JSON.parse(line.slice('data: '.length)) as T;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
