/** What both bindings of the protocol share: the body of a request, its version, and streams. */
import { A2A_VERSION_HEADER, type AgentCard, type StreamResponse } from '@a2a-js/sdk';
import { ContentTypeNotSupportedError } from '@a2a-js/sdk/errors';
import { ServerCallContext, validateVersion } from '@a2a-js/sdk/server';
import { ENVELOPE_BYTES_MAX } from '../../protocols/envelope.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { isTooDeep } from '../../protocols/json-depth.ts';
import type { EventStreams, SentEvent } from '../http/event-streams.ts';
import { header, type RouteRequest } from '../http/route.ts';
import { LEGACY_VERSION, VERSION } from './cards.ts';

/** A message has the payload of an envelope, and little else. */
const BODY_BYTES_MAX = ENVELOPE_BYTES_MAX + 65_536;
/** As that of an envelope: deeper ones would exhaust the stack of recursive code. */
const DEPTH_MAX = 64;
const CONTENT_TYPE = /^application\/(a2a\+)?json\s*(;|$)/i;
const UTF8 = new TextDecoder('utf-8', { fatal: true });

export type Binding = 'JSONRPC' | 'HTTP+JSON';

/**
 * The JSON of a body; undefined when it is not JSON.
 * @throws ContentTypeNotSupportedError; TroupeError PAYLOAD_TOO_LARGE, INVALID_ARGUMENT
 */
export async function jsonOf(incoming: RouteRequest): Promise<{ value: unknown } | undefined> {
  if (!CONTENT_TYPE.test(header(incoming.request, 'content-type') ?? ''))
    throw new ContentTypeNotSupportedError(
      'send a body of content-type application/json or application/a2a+json',
    );
  let text: string;
  let value: unknown;
  const bytes = await incoming.body(BODY_BYTES_MAX);
  try {
    text = UTF8.decode(bytes);
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (isTooDeep(text, DEPTH_MAX))
    throw new TroupeError('INVALID_ARGUMENT', `the body is nested more than ${DEPTH_MAX} deep`);
  return { value };
}

/** The requested version: the header, or the query, or 0.3. */
export const versionOf = ({ request, query }: RouteRequest): string =>
  header(request, A2A_VERSION_HEADER.toLowerCase()) ||
  query.get(A2A_VERSION_HEADER) ||
  LEGACY_VERSION;

/** @throws VersionNotSupportedError */
export function assertVersion(version: string, binding: Binding, legacy: boolean): void {
  const versions = legacy && binding === 'JSONRPC' ? [VERSION, LEGACY_VERSION] : [VERSION];
  const supportedInterfaces = versions.map((protocolVersion) => ({
    protocolVersion,
    protocolBinding: binding,
    url: '',
    tenant: '',
  }));
  validateVersion(version, { supportedInterfaces } as unknown as AgentCard, binding);
}

/** Our handler has the caller already, so the context of the SDK has only the version. */
export const callContext = (version: string): ServerCallContext =>
  new ServerCallContext({ requestedVersion: version });

export type Streamed<T> = {
  readonly streams: EventStreams;
  /** the client whose streams are counted */
  readonly who: string;
  readonly iterator: AsyncIterator<T>;
  /** number of the event that the iterator returned last */
  readonly eventId: () => number | undefined;
  readonly encode: (response: T) => object;
  /** what a client is sent when the stream fails */
  readonly failure: (thrown: unknown) => object;
};

/** Sends a stream. @throws the error of its first event, before anything is sent */
export async function sendStream<T = StreamResponse>(
  incoming: RouteRequest,
  { streams, who, iterator, eventId, encode, failure }: Streamed<T>,
): Promise<void> {
  const first = await iterator.next();
  try {
    await streams.send(incoming, who, async function* (): AsyncGenerator<SentEvent> {
      try {
        for (let next = first; next.done !== true; next = await iterator.next())
          yield { id: eventId(), data: encode(next.value) };
      } catch (error) {
        yield { event: 'error', data: failure(error) };
      }
    });
  } finally {
    await iterator.return?.();
  }
}
