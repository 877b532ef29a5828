/** What a test opens, so that it is closed after it and every frame it saw was a good one. */
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

/** A client that has said hello. */
export const openClient = async (gateway: Gateway, more: object = {}): Promise<Client> => {
  const client = await connected(gateway, more);
  clients.push(client);
  return client;
};

/** A connection that has been challenged and has said nothing yet. */
export const openStranger = async (
  gateway: Gateway,
  headers: Record<string, string> = {},
): Promise<Client> => {
  const stranger = new Client(gateway.url, { headers });
  clients.push(stranger);
  await stranger.frame(({ event }) => event === 'connect.challenge');
  return stranger;
};

/** Sessions that are played by hand or echo, their gateway, and a client of it. */
export const openAll = async (options: { echo?: boolean } = {}) => {
  const system = new FakeSessionSystem(new FakeCell(), options);
  const gateway = await openGateway(system);
  return { system, gateway, client: await openClient(gateway) };
};

/** For afterEach. @throws when a frame was refused by the published protocol package */
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
