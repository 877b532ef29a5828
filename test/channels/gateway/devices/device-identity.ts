/** Devices of tests: an Ed25519 key, and the signatures of the protocol. */
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import type { Client, Frame } from '../client.ts';

export type TestDevice = {
  readonly id: string;
  readonly publicKey: string;
  readonly privateKey: KeyObject;
};

export const newDevice = (): TestDevice => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const raw = publicKey.export({ type: 'spki', format: 'der' }).subarray(-32);
  return {
    id: createHash('sha256').update(raw).digest('hex'),
    publicKey: raw.toString('base64url'),
    privateKey,
  };
};

type Params = {
  readonly client: {
    readonly id: string;
    readonly mode: string;
    readonly platform: string;
    readonly deviceFamily?: string;
  };
  readonly role?: string;
  readonly scopes?: readonly string[];
  readonly auth?: { readonly token?: string; readonly deviceToken?: string };
};

export type Signing = {
  readonly nonce: string;
  readonly signedAt: number;
  readonly version?: 'v2' | 'v3';
};

/** The text that is signed. */
export const textToSign = (
  device: TestDevice,
  { client, role = 'operator', scopes = [], auth }: Params,
  { nonce, signedAt, version = 'v3' }: Signing,
): string => {
  const token = auth?.token ?? auth?.deviceToken ?? '';
  const fields = [version, device.id, client.id, client.mode, role, scopes.join(','), signedAt];
  const machine = [client.platform.toLowerCase(), (client.deviceFamily ?? '').toLowerCase()];
  return [...fields, token, nonce, ...(version === 'v3' ? machine : [])].join('|');
};

/** `device` of connect params, signed for them. */
export const signed = (device: TestDevice, params: Params, signing: Signing) => ({
  id: device.id,
  publicKey: device.publicKey,
  signature: sign(
    null,
    Buffer.from(textToSign(device, params, signing)),
    device.privateKey,
  ).toString('base64url'),
  signedAt: signing.signedAt,
  nonce: signing.nonce,
});

/** The challenge of a connection that has sent nothing yet. */
export const challengeOf = (client: Client): { nonce: string; ts: number } =>
  client.events('connect.challenge')[0]!.payload as { nonce: string; ts: number };

/** Connects as this device with these params, and returns the answer. */
export const helloAs = (client: Client, device: TestDevice, params: Params) => {
  const { nonce, ts } = challengeOf(client);
  const proof = signed(device, params, { nonce, signedAt: ts });
  return client.call('connect', { ...params, device: proof });
};

/** Connects as a node that offers `system.which`, with the gateway's or a tenant's token. */
export const helloAsNode = async (
  client: Client,
  device: TestDevice,
  token: string,
): Promise<Frame> => {
  await client.frame(({ event }) => event === 'connect.challenge');
  const params = {
    minProtocol: 4,
    maxProtocol: 4,
    client: { id: 'node-host', version: '1.0.0', platform: 'linux', mode: 'node' },
    role: 'node',
    scopes: [],
    caps: ['system'],
    commands: ['system.which'],
    auth: { token },
  };
  return helloAs(client, device, params);
};
