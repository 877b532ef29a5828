/** Folders and addresses that follow from the configuration. */
import { join } from 'node:path';
import type { Config } from './schema.ts';

/** The folder of the embedded store inside the data folder. */
export const storeFolder = ({ home }: Pick<Config, 'home'>): string => join(home, 'store');

/** The address that the gateway listens on. */
export function bindHost({ gateway }: Pick<Config, 'gateway'>): string {
  if (gateway.bind === 'custom' && gateway.customBindHost) return gateway.customBindHost;
  return gateway.bind === 'lan' ? '0.0.0.0' : '127.0.0.1';
}

/** Whether only this machine can reach the gateway. */
export const bindsLoopback = (config: Pick<Config, 'gateway'>): boolean =>
  /^(127\.\d+\.\d+\.\d+|::1|localhost)$/.test(bindHost(config));
