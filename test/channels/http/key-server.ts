/**
 * A real system with a keyring behind real HTTP: routes, tokens and JWKS, for routes and commands.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { createIdentity } from '../../../channels/edge/identity/create-identity.ts';
import { sealingKeyFile } from '../../../channels/edge/identity/key-file.ts';
import { localIssuer, localIssuerKeys } from '../../../channels/edge/identity/local-issuer.ts';
import { operatorOf } from '../../../channels/edge/identity/operator.ts';
import { createSealer } from '../../../channels/edge/identity/sealer.ts';
import type { Identity } from '../../../channels/edge/edge.ts';
import { keyRoutes } from '../../../channels/http/keys.ts';
import { routeListener } from '../../../channels/http/listener.ts';
import { type System, systemClock } from '../../../runtime/index.ts';
import { RESOURCE } from '../edge/identity/issuer.ts';
import { openCell, readerOf } from '../edge/identity/keyring-cell.ts';
import { scratchFolder } from '../../runtime/config/folder.ts';

export const GATEWAY_TOKEN = 'the-gateways-own';

export type KeyDoor = {
  readonly url: string;
  /** the data folder, whose `troupe token` is believed */
  readonly home: string;
  readonly system: System;
  readonly identity: Identity;
  /** what failed in a way that no route expects */
  readonly faults: string[];
};

export async function openKeyDoor(): Promise<KeyDoor> {
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
  const faults: string[] = [];
  const routes = keyRoutes({
    system,
    operator: operatorOf(identity, 'default'),
    tenant: 'default',
    published: async () => [sealer.publicJwk, ...(await localIssuerKeys(home))],
  });
  const log = { error: (_: object, message: string) => void faults.push(message) };
  const listen = routeListener({ routes, log });
  const server = createServer((request, response) => {
    if (!listen(request, response)) response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, home, system, identity, faults };
}
