/** Reads the body of a response up to a limit. */
import type { IncomingMessage } from 'node:http';
import { TroupeError } from '../../protocols/errors.ts';
import { requestFailure } from './guarded-request.ts';

/** @throws TroupeError PAYLOAD_TOO_LARGE; UNAVAILABLE, DEADLINE_EXCEEDED as `guardedRequest` */
export async function bodyOf(
  response: IncomingMessage,
  { origin, bytesMax }: { readonly origin: string; readonly bytesMax: number },
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > bytesMax) {
        response.destroy();
        throw new TroupeError(
          'PAYLOAD_TOO_LARGE',
          `${origin} answered more than ${bytesMax} bytes`,
        );
      }
      chunks.push(chunk);
    }
  } catch (cause) {
    throw requestFailure(cause as Error, { origin });
  }
  return Buffer.concat(chunks);
}
