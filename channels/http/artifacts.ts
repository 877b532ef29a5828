/**
 * Routes of artifacts: a program stores a file and receives a signed URL for it. A client with such
 * a URL may read that one file for a while. Nothing can be changed, removed or listed.
 *
 * Invariants:
 *  1. Bytes in transit are bounded over all requests: an upload is read into one buffer of the
 *     announced size; files are read a few at a time, and held until they are sent.
 *  2. A file is served as an attachment that no browser executes, whatever it contains.
 */
import type { TLSSocket } from 'node:tls';
import type { IncomingMessage } from 'node:http';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import { ARTIFACT_BYTES_MAX, type Artifact, type Artifacts } from '../../runtime/index.ts';
import type { Identity } from '../edge/edge.ts';
import { credentialsOf } from './envelopes.ts';
import { header, type Route, type RouteRequest, sendJson } from './route.ts';

export type ArtifactRoutesOptions = {
  readonly artifacts: Artifacts;
  /** counts an upload against the quota of envelopes */
  readonly authenticate: Identity['authenticate'];
  /** counts a new URL against the quota of reads; default as an upload */
  readonly authenticateReader?: Identity['authenticate'];
  /** base of signed URLs of this gateway, in addition to the host that a client requested */
  readonly publicUrl: () => string;
};

/** Bytes of files that are held for requests at once: of all, and of one tenant. */
const HELD_BYTES_MAX = { all: 4 * ARTIFACT_BYTES_MAX, tenant: 2 * ARTIFACT_BYTES_MAX };
/** Files that are read from the bucket at once, since their size is known only then. */
const READS_MAX = 4;
/** Requests that wait for such a read. */
const READS_WAITING_MAX = 1_000;
/** A client that reads nothing for this time is disconnected. */
const SILENT_READER_MS = 60_000;
const AGAIN_MS = 2_000;

/**
 * - `POST /v1/artifacts`: the file as the body, its type as `content-type`, its SHA-256 optional as
 *   `x-artifact-sha256` → 201 with an ArtifactRef and its `bytes`
 * - `POST /v1/artifacts/{hash}/sign` → 200 with a fresh ArtifactRef
 * - `GET /v1/artifacts/{tenant}/{hash}?exp&sig` → the file
 */
export const artifactRoutes = (options: ArtifactRoutesOptions): readonly Route[] => {
  const room = new Room(HELD_BYTES_MAX);
  const reads = new Reads();
  return [
    { method: 'POST', path: '/v1/artifacts', handle: (incoming) => store(options, room, incoming) },
    {
      method: 'POST',
      path: '/v1/artifacts/{hash}/sign',
      handle: (incoming) => sign(options, incoming),
    },
    {
      method: 'GET',
      path: '/v1/artifacts/{tenant}/{hash}',
      handle: (incoming) => fetchFile(options, { room, reads }, incoming),
    },
  ];
};

async function store(
  { artifacts, authenticate }: ArtifactRoutesOptions,
  room: Room,
  incoming: RouteRequest,
): Promise<void> {
  const { request, response } = incoming;
  // Closes the connection unless the body was read; the rest would be parsed as the next request.
  response.setHeader('connection', 'close');
  const { tenant } = await authenticate(credentialsOf(incoming));
  refuseOtherSites(request);
  const bytes = announcedBytes(request);
  const leave = room.take(tenant, bytes);
  try {
    const contents = await bodyOf(request, bytes);
    response.removeHeader('connection');
    const expectedHash = header(request, 'x-artifact-sha256');
    const artifact = await artifacts.put(tenant, contents, {
      contentType: header(request, 'content-type') ?? '',
      ...(expectedHash === undefined ? {} : { expectedHash }),
    });
    const ref = await artifacts.sign(tenant, artifact.hash);
    sendJson(response, 201, { ...ref, bytes: artifact.bytes });
  } finally {
    leave();
  }
}

async function sign(
  { artifacts, authenticate, authenticateReader = authenticate }: ArtifactRoutesOptions,
  incoming: RouteRequest,
): Promise<void> {
  const { tenant } = await authenticateReader(credentialsOf(incoming));
  refuseOtherSites(incoming.request);
  sendJson(incoming.response, 200, await artifacts.sign(tenant, incoming.params['hash']!));
}

async function fetchFile(
  options: ArtifactRoutesOptions,
  { room, reads }: { room: Room; reads: Reads },
  { request, response, params }: RouteRequest,
): Promise<void> {
  const tenant = params['tenant']!;
  const hash = await resolveHere(options, tenant, request);
  if (header(request, 'if-none-match') === etagOf(hash)) {
    response.writeHead(304, { etag: etagOf(hash), 'cache-control': CACHE }).end();
    return;
  }
  const { contents, artifact } = await reads.next(async () => {
    const file = await options.artifacts.get(tenant, hash);
    // A client that disconnected while waiting receives nothing.
    if (response.destroyed) throw new TroupeError('CANCELLED', 'the client disconnected');
    response.once('close', room.take(tenant, file.contents.length));
    return file;
  });
  response.setTimeout(SILENT_READER_MS, () => response.destroy());
  response.writeHead(200, fileHeaders(artifact));
  response.end(request.method === 'HEAD' ? undefined : contents);
}

/** The browser revalidates each time, and the signature is checked each time. */
const CACHE = 'private, no-cache';
const etagOf = (hash: string) => `"${hash}"`;

const fileHeaders = ({ hash, contentType, bytes }: Artifact) => ({
  'content-type': contentType,
  'content-length': bytes,
  'content-disposition': `attachment; filename="${hash}"`,
  'content-security-policy': "default-src 'none'; sandbox",
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'cache-control': CACHE,
  etag: etagOf(hash),
});

/**
 * The file that this request's URL names. A URL is signed with its base. That is this gateway's
 * own, or the host that the client requested: another gateway with the same bucket may have signed
 * it.
 */
async function resolveHere(
  { artifacts, publicUrl }: ArtifactRoutesOptions,
  tenant: string,
  request: IncomingMessage,
): Promise<string> {
  const target = request.url ?? '';
  try {
    return await artifacts.resolve(tenant, publicUrl() + target);
  } catch (error) {
    if (errorData(error).code !== 'FORBIDDEN') throw error;
    const scheme = (request.socket as TLSSocket).encrypted ? 'https' : 'http';
    return artifacts.resolve(tenant, `${scheme}://${request.headers.host ?? ''}${target}`);
  }
}

/** Refuses uploads by forms of other sites' pages, which browsers send without a CORS preflight. */
function refuseOtherSites(request: IncomingMessage): void {
  const { origin, host } = request.headers;
  if (origin === undefined || origin.replace(/^https?:\/\//, '') === host) return;
  throw new TroupeError('FORBIDDEN', `a page of ${origin.slice(0, 200)} may not store files here`);
}

/** @throws TroupeError INVALID_ARGUMENT, PAYLOAD_TOO_LARGE */
function announcedBytes({ headers }: IncomingMessage): number {
  const bytes = Number(headers['content-length'] ?? Number.NaN);
  if (!Number.isSafeInteger(bytes)) {
    throw new TroupeError(
      'INVALID_ARGUMENT',
      'send the file with a content-length header: its size must be known before it is read',
    );
  }
  if (bytes <= ARTIFACT_BYTES_MAX) return bytes;
  throw new TroupeError(
    'PAYLOAD_TOO_LARGE',
    `the file has ${bytes} bytes, at most ${ARTIFACT_BYTES_MAX} are allowed: send it in parts`,
    { details: { bytesMax: ARTIFACT_BYTES_MAX } },
  );
}

async function bodyOf(request: IncomingMessage, bytes: number): Promise<Uint8Array> {
  const contents = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  try {
    // HTTP framing ends the body at the announced size.
    for await (const chunk of request) at += (chunk as Buffer).copy(contents, at);
  } catch (cause) {
    throw new TroupeError('CANCELLED', 'the client disconnected before its file was complete', {
      cause,
    });
  }
  return contents;
}

/** Reads in sequence, with a few reads in parallel. */
class Reads {
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  /** @throws TroupeError RATE_LIMIT_EXCEEDED when too many wait; what the work throws */
  async next<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running < READS_MAX) this.#running++;
    else if (this.#waiting.length >= READS_WAITING_MAX) throw tooMany();
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      // The next waiting reader gets this slot.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running--;
    }
  }
}

/**
 * Limits the bytes that are held at once, in total and per tenant, so that a slow tenant does not
 * block the others.
 */
class Room {
  readonly #bytesMax: typeof HELD_BYTES_MAX;
  readonly #byTenant = new Map<string, number>();
  #bytes = 0;

  constructor(bytesMax: typeof HELD_BYTES_MAX) {
    this.#bytesMax = bytesMax;
  }

  /** Returns a function that releases the bytes. @throws TroupeError RATE_LIMIT_EXCEEDED */
  take(tenant: string, bytes: number): () => void {
    const { all, tenant: own } = this.#bytesMax;
    if (this.#bytes + bytes > all || this.#of(tenant) + bytes > own) throw tooMany();
    this.#add(tenant, bytes);
    let held = true;
    return () => {
      if (held) this.#add(tenant, -bytes);
      held = false;
    };
  }

  #of(tenant: string): number {
    return this.#byTenant.get(tenant) ?? 0;
  }

  #add(tenant: string, bytes: number): void {
    this.#bytes += bytes;
    const now = this.#of(tenant) + bytes;
    if (now === 0) this.#byTenant.delete(tenant);
    else this.#byTenant.set(tenant, now);
  }
}

const tooMany = (): TroupeError =>
  new TroupeError(
    'RATE_LIMIT_EXCEEDED',
    'this gateway transfers too many large files at present: try again soon',
    { retryAfterMs: AGAIN_MS },
  );
