/** Folders and addresses that follow from the configuration. */
import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Config } from './schema/schema.ts';

/** The folder of the embedded store inside the data folder. */
export const storeFolder = ({ home }: Pick<Config, 'home'>): string => join(home, 'store');

/** The address that the gateway listens on. */
export function bindHost({ gateway }: Pick<Config, 'gateway'>): string {
  if (gateway.bind === 'custom' && gateway.customBindHost) return gateway.customBindHost;
  return gateway.bind === 'lan' ? '0.0.0.0' : '127.0.0.1';
}

/** The gateway's configured URL for clients on this machine, without a slash at the end. */
export function gatewayOrigin(config: Pick<Config, 'gateway'>): string {
  const { port, tls } = config.gateway;
  const host = bindHost(config) === '0.0.0.0' ? '127.0.0.1' : bindHost(config);
  return `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Whether only this machine can reach the gateway. */
export const bindsLoopback = (config: Pick<Config, 'gateway'>): boolean =>
  /^(127\.\d+\.\d+\.\d+|::1|localhost)$/.test(bindHost(config));

/**
 * The name of this process in a cluster: as configured, or from machine and data folder. Both stay
 * the same after a restart, and no other process has the same pair.
 */
export function nodeName({ home, cluster }: Pick<Config, 'home' | 'cluster'>): string {
  if (cluster.name !== undefined) return cluster.name;
  const host = hostname()
    .toLowerCase()
    .split('.')[0]!
    .replaceAll(/[^a-z0-9-]/g, '-');
  const mark = createHash('sha256').update(home).digest('hex').slice(0, 4);
  return `${host.replace(/^-+/, '').slice(0, 50) || 'node'}-${mark}`;
}

/** Where a process of a cluster keeps copies of rows: a cache, which may be removed. */
export const cacheFolder = ({ home }: Pick<Config, 'home'>, role: string, name: string): string =>
  join(home, 'cluster-cache', `${role}-${name}`);
