/** openCluster: the ports of a node of a cluster on NATS, for `createSystem`. */
import { join } from 'node:path';
import { defined } from '../protocols/defined.ts';
import type { NatsOptions } from '../runtime/cluster/nats-connection.ts';
import { openNats } from '../runtime/cluster/open-nats.ts';
import { checkOptions, type OptionNames } from '../runtime/option-names.ts';
import type { SystemOptions } from '../runtime/system-options.ts';
import { openStateCache } from '../runtime/state/lmdb-cache.ts';
import packageJson from '../package.json' with { type: 'json' };

/** Credentials, and TLS, as for every connection of the runtime. */
type Credentials = Pick<
  NatsOptions,
  'user' | 'pass' | 'token' | 'credsFile' | 'nkeySeedFile' | 'tls'
>;

export type OpenClusterOptions = Credentials & {
  /** `nats://host:port` or `tls://host:port`; one or more of one NATS cluster, with JetStream */
  readonly servers: string | readonly string[];
  /** folder for this node's copy of rows; created if absent, used by one process at a time */
  readonly path: string;
  /** stable over restarts, one of its kind in the cell: 1 to 63 of a-z, 0-9, _ and - */
  readonly name: string;
  /** separates cells on one NATS, as the first token of their subjects; default `local` */
  readonly env?: string;
  /** a worker (default) owns shards; a gateway only sends messages and reads rows */
  readonly role?: 'worker' | 'gateway';
  /** of a new cell: 1 to 65,536, default 64; an existing cell keeps its own count */
  readonly shards?: number;
  /** replicas of every stream; default 1; more require NATS 2.11 */
  readonly replicas?: number;
  /** receives messages for the operator; default: they are discarded */
  readonly onAlarm?: (what: string) => void;
  /** ends the wait for the server */
  readonly signal?: AbortSignal;
};

const OPTIONS = {
  servers: 'required',
  path: 'required',
  name: 'required',
  env: 'optional',
  role: 'optional',
  shards: 'optional',
  replicas: 'optional',
  onAlarm: 'optional',
  signal: 'optional',
  user: 'optional',
  pass: 'optional',
  token: 'optional',
  credsFile: 'optional',
  nkeySeedFile: 'optional',
  tls: 'optional',
} satisfies OptionNames<OpenClusterOptions>;

/** What `createSystem` needs of a node of a cluster. */
export type ClusterPorts = Pick<SystemOptions, 'store' | 'bus' | 'blobs'> &
  Required<Pick<SystemOptions, 'shards' | 'env' | 'cluster' | 'onAlarm'>>;

/**
 * Connects to NATS and joins the cell, which is created if absent. Every node of a cell must
 * register the same actors. Waits for a server that is not running yet until `signal` is aborted.
 *
 * @throws TroupeError when the server, its streams or the credentials cannot be used
 * @example
 * ```ts
 * import { createSystem, openCluster } from 'troupe';
 *
 * const system = await createSystem({
 *   ...(await openCluster({ servers: 'nats://127.0.0.1:4222', path: 'node-a', name: 'node-a' })),
 *   actors: [],
 * });
 * await system.stop();
 * ```
 */
export async function openCluster(options: OpenClusterOptions): Promise<ClusterPorts> {
  checkOptions('openCluster', options, OPTIONS);
  const { servers, path, name, env = 'local', role = 'worker', shards = 64 } = options;
  const { replicas, user, pass, token, credsFile, nkeySeedFile, tls, signal } = options;
  const onAlarm = options.onAlarm ?? (() => {});
  const ports = await openNats({
    servers: typeof servers === 'string' ? [servers] : servers,
    env,
    shards,
    state: (cell) => openStateCache({ path: join(path, 'cache'), cell }),
    onAlarm,
    ...defined({ replicas, user, pass, token, credsFile, nkeySeedFile, tls, signal }),
  });
  const { store, bus, blobs } = ports;
  const cluster = { role, name, version: packageJson.version };
  return { store, bus, blobs, shards: ports.shards, env, cluster, onAlarm };
}
