/** The section `nats`: what its keys must agree on, and what a connection is made with. */
import { defined } from '../../protocols/defined.ts';
import type { NatsOptions } from '../cluster/nats-connection.ts';
import type { Finding } from './checks/check.ts';
import type { Config } from './schema/schema.ts';

type Nats = Config['nats'];

export const natsLoginStands = ({ nats }: Config): Finding[] => [
  ...loginsInUrls(nats),
  ...pairs(nats),
  ...oneWayIn(nats),
];

/** In a URL it would be shown wherever the server is named. */
function loginsInUrls(nats: Nats): Finding[] {
  if (!natsServers(nats).some((url) => url.includes('@'))) return [];
  return [
    {
      pointer: '/nats/url',
      message: 'must hold no user and no password: they have keys of their own',
      allowed: 'nats://host:port, with nats.user and nats.password',
    },
  ];
}

/** Keys that mean nothing without each other. */
function pairs({ user, password, tls }: Nats): Finding[] {
  const missing = (pointer: string, because: string): Finding => ({
    pointer,
    message: `is missing: ${because} is set`,
  });
  return [
    ...(user && !password ? [missing('/nats/password', 'nats.user')] : []),
    ...(password && !user ? [missing('/nats/user', 'nats.password')] : []),
    ...(tls?.certFile && !tls.keyFile ? [missing('/nats/tls/keyFile', 'nats.tls.certFile')] : []),
    ...(tls?.keyFile && !tls.certFile ? [missing('/nats/tls/certFile', 'nats.tls.keyFile')] : []),
  ];
}

const ways = ['user', 'token', 'credentialsFile', 'nkeySeedFile'] as const;

function oneWayIn(nats: Nats): Finding[] {
  const [first, ...others] = ways.filter((way) => nats[way] !== undefined);
  return others.map((way) => ({
    pointer: `/nats/${way}`,
    message: `nats.${first} is set already; there is one way to sign in`,
    allowed: `one of ${ways.map((one) => `nats.${one}`).join(', ')}`,
  }));
}

/** The servers of `nats.url`; [] when none is named. */
export const natsServers = ({ url = [] }: Nats): readonly string[] =>
  typeof url === 'string' ? [url] : url;

/** With secrets revealed: for the connection alone. */
export function natsOptions({ nats }: Pick<Config, 'nats'>): NatsOptions {
  const { user, password, token, credentialsFile, nkeySeedFile } = nats;
  const servers = natsServers(nats);
  const tls = nats.tls ?? (servers.some((url) => url.startsWith('tls:')) ? {} : undefined);
  return {
    servers,
    ...(user && { user }),
    ...(password && { pass: password.reveal() }),
    ...(token && { token: token.reveal() }),
    ...(credentialsFile && { credsFile: credentialsFile }),
    ...(nkeySeedFile && { nkeySeedFile }),
    ...defined({ tls }),
  };
}
