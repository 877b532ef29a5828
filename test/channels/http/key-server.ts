/**
 * A real system with a keyring behind real HTTP: routes, tokens and JWKS, for routes and commands.
 */
import { createIdentity } from '../../../channels/edge/identity/create-identity.ts';
import { sealingKeyFile } from '../../../channels/edge/identity/key-file.ts';
import { localIssuer, localIssuerKeys } from '../../../channels/edge/identity/local-issuer.ts';
import { operatorOf } from '../../../channels/edge/identity/operator.ts';
import { createSealer } from '../../../channels/edge/identity/sealer.ts';
import type { Identity } from '../../../channels/edge/edge.ts';
import { jwksRoutes } from '../../../channels/http/jwks.ts';
import { type System, systemClock } from '../../../runtime/index.ts';
import { RESOURCE } from '../edge/identity/issuer.ts';
import { openCell, readerOf } from '../edge/identity/keyring-cell.ts';
import { scratchFolder } from '../../runtime/config/folder.ts';
import { serveRoutes, testOperations } from './operation-server.ts';

export const GATEWAY_TOKEN = 'the-gateways-own';

export type KeyServer = {
  readonly url: string;
  /** the data folder, whose `troupe token` is accepted */
  readonly home: string;
  readonly system: System;
  readonly identity: Identity;
  /** unexpected errors of routes */
  readonly faults: string[];
};

export async function openKeyServer(): Promise<KeyServer> {
  const [system, home] = [await openCell(), scratchFolder()];
  const identity = createIdentity({
    issuers: [localIssuer(home)],
    resource: RESOURCE,
    tenant: 'default',
    gatewayToken: GATEWAY_TOKEN,
    keys: readerOf(system),
    clock: systemClock,
  });
  const sealer = await createSealer({ file: sealingKeyFile(home), jwksUrl: () => '' });
  const operator = operatorOf(identity, 'default');
  const { url, faults } = await serveRoutes([
    ...testOperations({ system, operator, installation: operator }),
    ...jwksRoutes(async () => [sealer.publicJwk, ...(await localIssuerKeys(home))]),
  ]);
  return { url, home, system, identity, faults };
}
