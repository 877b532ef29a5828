/**
 * The connection to NATS: settings that detect a dead connection within seconds and reconnect
 * without limit, and the one place where the client's events become texts for operators.
 *
 * At the start it waits for a server that is not running yet; errors that waiting cannot resolve
 * (an address, credentials, a certificate) are reported at once. Once connected, it waits for
 * everything, also for a server that refuses the credentials: they may be valid after the server's
 * next change.
 *
 * No text of this file contains a secret.
 */
import { readFile } from 'node:fs/promises';
import {
  type Authenticator,
  connect,
  type ConnectionOptions,
  credsAuthenticator,
  errors,
  type NatsConnection,
  nkeyAuthenticator,
  type Status,
} from '@nats-io/transport-node';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { repeated } from './pause.ts';

export type NatsOptions = {
  /** nats://host:port, tls://host:port or host:port; one or more of one cluster */
  readonly servers: readonly string[];
  /** what the server shows of this connection; default `troupe` */
  readonly name?: string;
  readonly user?: string;
  readonly pass?: string;
  readonly token?: string;
  /** path of a file with a user's JWT and seed */
  readonly credsFile?: string;
  /** path of a file with the seed of an nkey */
  readonly nkeySeedFile?: string;
  /** if set, even as `{}`, TLS is required; paths of PEM files */
  readonly tls?: {
    readonly caFile?: string;
    readonly certFile?: string;
    readonly keyFile?: string;
  };
  /** subjects of replies; default of the client. A tenant may be limited to inboxes of its own */
  readonly inboxPrefix?: string;
  /**
   * receives the state of the connection in plain words; waits are reported at most once in ten
   * seconds
   */
  readonly onStatus?: (what: string) => void;
  /** ends the wait for the first connection, and nothing after it */
  readonly signal?: AbortSignal;
};

/** A dead peer is noticed after two pings without an answer: within six seconds. */
const SETTINGS = {
  maxReconnectAttempts: -1,
  reconnectTimeWait: 150,
  reconnectJitter: 100,
  reconnectJitterTLS: 100,
  timeout: 2_000,
  pingInterval: 2_000,
  maxPingOut: 2,
  ignoreAuthErrorAbort: true,
  // a stack for each request costs more than the request
  noAsyncTraces: true,
} satisfies ConnectionOptions;

/**
 * Resolves with the first connection; only `signal` ends the wait.
 * @throws TroupeError INVALID_ARGUMENT for an address, a file or a certificate that cannot be
 * used; UNAUTHORIZED when the server refuses the credentials; CANCELLED when `signal` ends the wait
 */
export async function connectNats(options: NatsOptions): Promise<NatsConnection> {
  const { signal, onStatus = () => {} } = options;
  const settings = await settingsOf(options);
  const nc = await repeated(
    () => dial(settings, signal),
    (error) => `NATS does not answer: ${reasonToWait(error, options)}`,
    { onStatus, ...defined({ signal }) },
  );
  void follow(nc, onStatus);
  return nc;
}

async function settingsOf(options: NatsOptions): Promise<ConnectionOptions> {
  const { servers, user, pass, token, tls, inboxPrefix } = options;
  if (servers.length === 0) throw refused('the list of NATS servers is empty');
  const authenticator = await authenticatorOf(options);
  for (const path of Object.values(tls ?? {})) await readable(path);
  return {
    ...SETTINGS,
    servers: servers.map(checkedServer),
    name: options.name ?? 'troupe',
    ...defined({ user, pass, token, authenticator, tls, inboxPrefix }),
  };
}

async function authenticatorOf(options: NatsOptions): Promise<Authenticator | undefined> {
  const { credsFile, nkeySeedFile } = options;
  if (credsFile !== undefined) {
    const creds = await readable(credsFile);
    return usable(credsFile, 'credentials', credsAuthenticator(creds));
  }
  if (nkeySeedFile === undefined) return undefined;
  const seed = Buffer.from((await readable(nkeySeedFile)).toString().trim());
  return usable(nkeySeedFile, 'an nkey seed', nkeyAuthenticator(seed));
}

/** Signs once, so that a file with other content is detected here and not by the connection. */
function usable(path: string, what: string, authenticator: Authenticator): Authenticator {
  try {
    authenticator('nonce');
    return authenticator;
  } catch (cause) {
    throw refused(`${path} does not contain ${what} of NATS`, cause);
  }
}

async function readable(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (cause) {
    throw refused(`${path} cannot be read: ${textOf(cause)}`, cause);
  }
}

/** In the form of the client. Never repeats its input: a URL may hold a password. */
function checkedServer(server: string): string {
  if (server.includes('@'))
    throw refused(
      'a NATS URL must not contain a user or a password: set them in their own options',
    );
  const parts = /^(?:(?:nats|tls):\/\/)?([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::(\d{1,5}))?\/?$/i;
  const [, host, port = '4222'] = parts.exec(server) ?? [];
  if (host !== undefined && Number(port) > 0 && Number(port) < 65_536) return `${host}:${port}`;
  throw refused(
    `${JSON.stringify(server)} is not an address of a NATS server: write nats://host:port`,
  );
}

/** One attempt. An abandoned attempt closes its own connection. */
async function dial(settings: ConnectionOptions, signal?: AbortSignal): Promise<NatsConnection> {
  if (signal === undefined) return connect(settings);
  if (signal.aborted) throw ended();
  const connecting = connect(settings);
  let stop: () => void = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(ended());
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([connecting, aborted]);
  } catch (error) {
    connecting.then((late) => late.close()).catch(() => {});
    throw error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

const ended = (): TroupeError => new TroupeError('CANCELLED', 'the wait for NATS was ended');

/** @throws TroupeError for errors that waiting cannot resolve */
function reasonToWait(error: unknown, { tls }: NatsOptions): string {
  if (error instanceof TroupeError) throw error;
  const why = textOf(error);
  if (isCredentials(error))
    throw new TroupeError(
      'UNAUTHORIZED',
      `NATS refuses the credentials (${why}): check user and password, token, credentials or nkey`,
      { cause: error },
    );
  if (isTls(error))
    throw refused(`the TLS connection to NATS failed: ${why}. ${TLS_REMEDY}`, error);
  if (/unexpected response from server/.test(why))
    throw refused('the server at this address is not a NATS server: check host and port', error);
  if (!(error instanceof errors.TimeoutError)) return why;
  // The client does not pass on why a server ends a connection before it has begun.
  const hint = 'or it requires a client certificate (certFile, keyFile)';
  return `no answer within ${SETTINGS.timeout} ms${tls && !tls.certFile ? `, ${hint}` : ''}`;
}

const TLS_REMEDY =
  "Check the CA that signed the server's certificate, the name in it, and the certificate that " +
  'the server requires';

const isCredentials = (error: unknown): boolean =>
  error instanceof errors.AuthorizationError ||
  error instanceof errors.UserAuthenticationExpiredError;

/** Codes of OpenSSL's verification (X509_V_ERR_*, as Node names them) and of the handshake. */
const TLS_CODE =
  /^(ERR_TLS|ERR_SSL|ERR_OSSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_(GET|VERIFY|DECODE)|HOSTNAME_)/;

const isTls = (error: unknown): boolean => {
  const code = (error as { code?: unknown } | undefined)?.code;
  if (typeof code === 'string' && TLS_CODE.test(code)) return true;
  return error instanceof Error && /does not support 'tls'|PEM/.test(error.message);
};

/** Ends with the connection. */
async function follow(nc: NatsConnection, onStatus: (what: string) => void): Promise<void> {
  let isUp = true;
  for await (const status of nc.status()) {
    if (status.type === 'disconnect' && !isUp) continue;
    if (status.type === 'disconnect' || status.type === 'reconnect')
      isUp = status.type === 'reconnect';
    const what = wordsOf(status);
    if (what !== undefined) onStatus(what);
  }
}

function wordsOf(status: Status): string | undefined {
  switch (status.type) {
    case 'disconnect':
      return `the connection to NATS at ${status.server} is lost; trying again`;
    case 'reconnect':
      return `connected to NATS again, at ${status.server}`;
    case 'staleConnection':
      return 'NATS no longer answers pings';
    case 'ldm':
      return `NATS at ${status.server} is about to stop; connecting to another server`;
    case 'slowConsumer':
      return `messages of ${status.sub.getSubject()} arrive faster than they are processed`;
    case 'error':
      return isCredentials(status.error)
        ? `NATS refuses the credentials: ${textOf(status.error)}`
        : `NATS reports an error: ${textOf(status.error)}`;
    default:
      return undefined;
  }
}

const textOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as NodeJS.ErrnoException;
  return error.message || code || error.name;
};

const refused = (why: string, cause?: unknown): TroupeError =>
  new TroupeError('INVALID_ARGUMENT', why, { cause });
