/**
 * Streams that end without the answer. The SDK resumes a stream whose events have ids
 * (`Last-Event-ID`), and otherwise waits for the time limit of the request: here the request gets
 * an error at once.
 */
import type { Transport } from '@modelcontextprotocol/client';

/** In `data` of the error of such a request. */
const STREAM_ENDED = 'troupe/stream-ended';
/** JSON-RPC 2.0. */
const INTERNAL_ERROR = -32_603;

/** Changes all later requests of the transport. */
export function endWithStreams<T extends Transport>(transport: T): T {
  const send: Transport['send'] = transport.send.bind(transport);
  transport.send = (message, options) => {
    const isRequest = 'method' in message && 'id' in message;
    if (!isRequest || options?.onRequestStreamEnd) return send(message, options);
    const { id } = message;
    const error = {
      code: INTERNAL_ERROR,
      message: 'the stream ended without the answer',
      data: { [STREAM_ENDED]: true },
    };
    // The SDK ignores the error of a request that was answered.
    const onRequestStreamEnd = () => transport.onmessage?.({ jsonrpc: '2.0', id, error });
    return send(message, { ...options, onRequestStreamEnd });
  };
  return transport;
}

export const isStreamEnd = ({ data }: { readonly data?: unknown }): boolean =>
  typeof data === 'object' && data !== null && STREAM_ENDED in data;
