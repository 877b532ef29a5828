/**
 * Overrides: the keys that an environment variable or a flag may set over the file. A flag wins
 * over a variable.
 */
import { isIP } from 'node:net';
import type { Layers } from './layers.ts';

/** What a command line may set. */
export type ConfigFlags = {
  readonly data?: string;
  readonly port?: string | number;
  /** `loopback`, `lan`, or an IP address of this machine */
  readonly bind?: string;
  readonly token?: string;
  /** one URL or several with commas between */
  readonly nats?: string;
  readonly name?: string;
  readonly weight?: string | number;
};

type Override = {
  readonly pointer: string;
  readonly variable?: string;
  readonly flag?: Exclude<keyof ConfigFlags, 'data'>;
  /** placeholder after the flag, for the reference */
  readonly takes?: string;
  /** the value without a flag or variable */
  readonly note?: string;
  /** what the text means; default the text itself */
  readonly read?: (text: string | number) => unknown;
};

/** Digits are a number; anything else stays, to be refused with its own words. */
const numberOrText = (text: string | number): unknown =>
  typeof text === 'string' && /^\d+(\.\d+)?$/.test(text) ? Number(text) : text;

const asWritten = (text: string | number): unknown => text;

const oneOrList = (text: string | number): unknown => {
  const parts = String(text).split(',');
  return parts.length === 1 ? text : parts.map((part) => part.trim());
};

/** In the order of the reference. */
export const overrides: readonly Override[] = [
  {
    pointer: '/gateway/port',
    variable: 'TROUPE_PORT',
    flag: 'port',
    takes: 'N',
    read: numberOrText,
  },
  {
    pointer: '/gateway/bind',
    variable: 'TROUPE_BIND',
    flag: 'bind',
    takes: 'loopback|lan|IP',
  },
  {
    pointer: '/gateway/auth/token',
    variable: 'TROUPE_TOKEN',
    flag: 'token',
    takes: 'T',
    note: 'made at the first start, kept in the file `token` of the data folder',
  },
  {
    pointer: '/nats/url',
    variable: 'TROUPE_NATS_URL',
    flag: 'nats',
    takes: 'URL,URL',
    read: oneOrList,
  },
  { pointer: '/nats/user', variable: 'TROUPE_NATS_USER' },
  { pointer: '/nats/password', variable: 'TROUPE_NATS_PASSWORD' },
  { pointer: '/nats/token', variable: 'TROUPE_NATS_TOKEN' },
  { pointer: '/nats/replicas', variable: 'TROUPE_NATS_REPLICAS', read: numberOrText },
  {
    pointer: '/cluster/name',
    variable: 'TROUPE_NODE_NAME',
    flag: 'name',
    takes: 'NAME',
    note: 'host name and a mark of the data folder',
  },
  { pointer: '/cluster/secret', variable: 'TROUPE_CLUSTER_SECRET' },
  { pointer: '/cluster/weight', flag: 'weight', takes: 'N', read: numberOrText },
];

/** Lays variables over the file, and flags over both. An empty one sets nothing. */
export function layOver(
  layers: Layers,
  env: Readonly<Record<string, string | undefined>>,
  flags: ConfigFlags,
): void {
  for (const { pointer, variable, flag, read = asWritten } of overrides) {
    const named: [value: string | number | undefined, source: string][] = [
      [variable && env[variable], `environment variable ${variable}`],
      [flag && flags[flag], `--${flag}`],
    ];
    for (const [value, source] of named) {
      if (value === undefined || value === '') continue;
      if (pointer === '/gateway/bind') bindTo(layers, String(value), source);
      else layers.set(pointer, read(value), source);
    }
  }
}

/** An address is what the file writes as `bind: "custom"` with the address beside it. */
function bindTo(layers: Layers, place: string, source: string): void {
  const address = isIP(place) > 0;
  layers.set('/gateway/bind', address ? 'custom' : place, source);
  if (address) layers.set('/gateway/customBindHost', place, source);
}
