/**
 * One connection to an MCP server: a process or an HTTP endpoint, and the SDK's client, which
 * negotiates the revision of the protocol. The SDK is loaded with the first connection.
 *
 * Boundary: server.ts decides when a connection opens and closes.
 */
import type {
  Client,
  ElicitRequestFormParams,
  ElicitResult,
  Transport,
} from '@modelcontextprotocol/client';
import { TroupeError } from '../../protocols/errors.ts';
import { TASKS_EXTENSION } from '../../protocols/mcp.ts';
import type { McpServerConfig } from '../../runtime/config/index.ts';
import type { Clock } from '../../runtime/index.ts';
import { createGuardedFetch } from '../net/guarded-fetch.ts';
import type { Boundary } from '../sandbox/boundary.ts';
import { privateAddress } from './oauth/oauth-fetch.ts';
import type { ServerLogin } from './oauth/server-login.ts';
import { hiddenPath } from './hidden-path.ts';
import { readInbound } from './inbound.ts';
import { refuseBusy } from './busy.ts';
import { endWithStreams } from './stream-end.ts';
import { MESSAGE_BYTES_MAX, StdioTransport } from './stdio-transport.ts';

/** Until a server has answered the handshake, milliseconds. A first start may fetch packages. */
const CONNECT_MS = 60_000;
/** Until a process that does not answer is taken for one of 2025, milliseconds. */
const PROBE_MS = 10_000;
/** For the end of a session of 2025, milliseconds. */
const CLOSE_MS = 2_000;
/** Pages of one list of tools. */
const PAGES_MAX = 32;

export type Boundaries = { readonly sandbox: Boundary; readonly host: Boundary };

export type ConnectOptions = {
  readonly name: string;
  readonly config: McpServerConfig;
  readonly boundaries: Boundaries;
  readonly clock: Clock;
  readonly version: string;
  readonly onPrint: (line: string) => void;
  /** the server has announced that its tools have changed */
  readonly onToolsChanged: () => void;
  /** a tool that no client could use was removed from a list */
  readonly onRemovedTool: (name: string, why: string) => void;
  /** the server asked for input, which was declined */
  readonly onDeclined: (question: string) => void;
  /** of a server with a URL; absent: requests have no tokens but those of the configuration */
  readonly login?: ServerLogin | undefined;
  /** the answer to a form; default: it is declined */
  readonly onForm?: (form: ElicitRequestFormParams) => ElicitResult;
  /** default: all revisions that the SDK supports */
  readonly onlyLegacy?: boolean;
};

export type Connection = {
  readonly client: Client;
  /** Why it ended; undefined after `close`. Never rejects; of HTTP only after `close`. */
  readonly ended: Promise<string | undefined>;
  close(this: void): Promise<void>;
};

type Opened = Pick<Connection, 'ended' | 'close'> & { readonly transport: Transport };

/** @throws TroupeError, and errors of the SDK */
export async function connect(options: ConnectOptions): Promise<Connection> {
  try {
    return await connectOnce(options);
  } catch (error) {
    // Some servers of 2025 end when they receive another request than `initialize`.
    if (options.config.url !== undefined || options.onlyLegacy || !isEnded(error)) throw error;
    return connectOnce({ ...options, onlyLegacy: true });
  }
}

async function connectOnce(options: ConnectOptions): Promise<Connection> {
  const { onToolsChanged, onRemovedTool, version, onlyLegacy = false, config } = options;
  const { Client: SdkClient } = await import('@modelcontextprotocol/client');
  const { transport, ended, close } = await open(options);
  const client = new SdkClient(
    { name: 'troupe', version },
    {
      capabilities: { elicitation: { form: {} }, extensions: { [TASKS_EXTENSION]: {} } },
      versionNegotiation: onlyLegacy
        ? { mode: 'legacy' }
        : { mode: 'auto', ...(config.url === undefined && { probe: { timeoutMs: PROBE_MS } }) },
      listChanged: { tools: { autoRefresh: false, onChanged: onToolsChanged } },
      listMaxPages: PAGES_MAX,
      // Schemas of others are compiled by runtime/json-schema only, which limits their time.
      jsonSchemaValidator: {
        getValidator: () => (value) => ({
          valid: true,
          data: value as never,
          errorMessage: undefined,
        }),
      },
    },
  );
  client.setRequestHandler('elicitation/create', ({ params }) => {
    if (options.onForm && params.mode !== 'url') return options.onForm(params);
    options.onDeclined(params.message);
    return { action: 'decline' };
  });
  try {
    const connecting = client.connect(readInbound(transport, onRemovedTool), {
      timeout: CONNECT_MS,
    });
    connecting.catch(() => {});
    await Promise.race([connecting, ended.then((why) => Promise.reject(endedError(why)))]);
  } catch (error) {
    await close();
    const why = await ended;
    if (why === undefined) throw error;
    const hidden = hiddenFrom(options);
    throw endedError(hidden === undefined ? why : `${why}. ${hidden}`);
  }
  return { client, ended, close };
}

const open = (options: ConnectOptions): Promise<Opened> =>
  options.config.url === undefined ? openProcess(options) : openHttp(options, options.config.url);

/** Of a program that ended at its start: what the sandbox hid from it, if anything. */
const hiddenFrom = ({ config, boundaries }: ConnectOptions): string | undefined =>
  config.command === undefined || !config.sandbox
    ? undefined
    : hiddenPath([config.command, ...config.args], boundaries.sandbox.kind);

async function openProcess(options: ConnectOptions): Promise<Opened> {
  const { config, boundaries, clock, onPrint } = options;
  const { command = '', args, env, cwd, network, sandbox } = config;
  const values = Object.entries(env).map(([key, value]) => [key, value.reveal()] as const);
  const transport = await StdioTransport.open({
    argv: [command, ...args],
    env: Object.fromEntries(values),
    cwd,
    network,
    boundary: sandbox ? boundaries.sandbox : boundaries.host,
    clock,
    onPrint,
  });
  return { transport, ended: transport.ended, close: () => transport.close() };
}

async function openHttp(
  { name, config, clock, login }: ConnectOptions,
  url: string,
): Promise<Opened> {
  const { StreamableHTTPClientTransport: HttpTransport } = await import(
    '@modelcontextprotocol/client'
  );
  const headers = Object.entries(config.headers).map(([key, value]) => [key, value.reveal()]);
  const fetch = refuseBusy(
    createGuardedFetch({
      allowPrivate: config.allowPrivate,
      refusal: (host) => privateAddress(name, host),
      bytesMax: MESSAGE_BYTES_MAX,
    }),
  );
  const transport = new HttpTransport(new URL(url), {
    ...(login ? { fetch: login.withScopes(fetch), authProvider: login } : { fetch }),
    requestInit: { headers: headers as [string, string][] },
  });
  endWithStreams(transport);
  let onClosed: () => void = () => {};
  const ended = new Promise<undefined>((resolve) => (onClosed = () => resolve(undefined)));
  const close = async () => {
    onClosed();
    // Of 2025: the server may forget the session. It may refuse that, or not answer.
    const cancel = clock.after(CLOSE_MS, () => void transport.close());
    if (transport.sessionId !== undefined) await transport.terminateSession().catch(() => {});
    cancel();
    await transport.close();
  };
  return { transport, ended, close };
}

const ENDED = 'process_ended';
const endedError = (why = 'was closed'): TroupeError =>
  new TroupeError('UNAVAILABLE', `its process ${why}`, { details: { reason: ENDED } });
const isEnded = (error: unknown): boolean =>
  error instanceof TroupeError && (error.details as { reason?: string })?.reason === ENDED;
