/** Clients and gateways that are closed after each test, in which every frame must be valid. */
import type { Gateway, GatewayOptions } from '../../../channels/index.ts';
import type { System } from '../../../runtime/index.ts';
import { Client, connected, gatewayOn } from './client.ts';
import { FakeCell, FakeSessionSystem } from './fake-session-system.ts';

let gateways: Gateway[] = [];
let clients: Client[] = [];

export const openGateway = async (
  system: System = new FakeSessionSystem(),
  options: Partial<GatewayOptions> = {},
): Promise<Gateway> => {
  const gateway = await gatewayOn(system, options);
  gateways.push(gateway);
  return gateway;
};

/** A client that completed the handshake. */
export const openClient = async (gateway: Gateway, more: object = {}): Promise<Client> => {
  const client = await connected(gateway, more);
  clients.push(client);
  return client;
};

/** A connection that received its challenge and has sent nothing yet. */
export const openChallenged = async (
  gateway: Gateway,
  headers: Record<string, string> = {},
): Promise<Client> => {
  const client = new Client(gateway.url, { headers });
  clients.push(client);
  await client.frame(({ event }) => event === 'connect.challenge');
  return client;
};

/** Sessions that the test answers for or that echo, their gateway, and a client of it. */
export const openAll = async (options: { echo?: boolean } = {}) => {
  const system = new FakeSessionSystem(new FakeCell(), options);
  const gateway = await openGateway(system);
  return { system, gateway, client: await openClient(gateway) };
};

/** For afterEach. @throws when the published protocol package refused a frame */
export const closeAll = async (): Promise<void> => {
  const ending = { gateways, clients };
  gateways = [];
  clients = [];
  await Promise.all(ending.gateways.map((gateway) => gateway.close()));
  await Promise.all(ending.clients.map((client) => client.close()));
  const complaints = ending.clients.flatMap((client) => client.complaints);
  if (complaints.length > 0) {
    throw new Error(`the published protocol package refuses frames:\n${complaints.join('\n')}`);
  }
};
