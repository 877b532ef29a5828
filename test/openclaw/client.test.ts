/**
 * OpenClaw's reference client library, as published, against the whole program: the behaviour on
 * which every client built with it relies.
 */
import { createHash, createPublicKey, generateKeyPairSync, sign } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GatewayClient, type GatewayClientOptions } from '@openclaw/gateway-client';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Address, oneAddress } from '../kill/gateways.ts';
import {
  kill,
  type Program,
  startGateway,
  startProgram,
  startWorker,
  TOKEN,
} from '../kill/program.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { eventually } from '../runtime/eventually.ts';
import { type NatsServer, natsServers, startNats } from '../servers/nats.ts';

const data = mkdtempSync(join(tmpdir(), 'troupe-openclaw-client-'));
const MAIN = 'agent:main:main';
const timeout = 120_000;

type Hello = { server: { bootId: string }; auth: { deviceToken?: string; scopes?: string[] } };
type ReceivedEvent = { event: string; payload?: unknown; seq?: number };
type Final = { status: string; runId: string; result: { payloads: { text: string }[] } };

/** A client, and everything that it received. */
class Peer {
  readonly hellos: Hello[] = [];
  readonly events: ReceivedEvent[] = [];
  readonly gaps: { expected: number; received: number }[] = [];
  readonly errors: (Error & { details?: { code?: string; requestId?: string } })[] = [];
  readonly client: GatewayClient;

  constructor(options: GatewayClientOptions) {
    this.client = new GatewayClient({
      ...options,
      minProtocol: 4,
      maxProtocol: 4,
      onHelloOk: (hello) => this.hellos.push(hello as Hello),
      onEvent: (event) => this.events.push(event),
      onGap: (gap) => this.gaps.push(gap),
      onConnectError: (error) => this.errors.push(error),
    });
    peers.push(this);
    this.client.start();
  }

  async hello(count = 1): Promise<Hello> {
    return eventually(() => {
      const hello = this.hellos[count - 1];
      if (hello === undefined) throw this.errors.at(-1) ?? new Error('no hello');
      return hello;
    }, timeout / 2);
  }

  call<T = Record<string, unknown>>(method: string, params: object = {}): Promise<T> {
    return this.client.request<T>(method, params);
  }

  /** The final answer of a run. */
  run(message: string, key: string): Promise<Final> {
    const params = { sessionKey: MAIN, message, idempotencyKey: key };
    return this.client.request('agent', params, { expectFinal: true, timeoutMs: null });
  }
}

const peers: Peer[] = [];
const running: Program[] = [];
afterEach(() => {
  for (const { client } of peers.splice(0)) client.stop();
});
afterAll(async () => {
  await Promise.all(running.map(kill));
  rmSync(data, { recursive: true, force: true, maxRetries: 5 });
});

const folderOf = (name: string, config: string): string => {
  const folder = join(data, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'troupe.json5'), config);
  return folder;
};

/** A program on a device: its key, and the store of the token that it receives. */
const device = () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const kept: { token: string; scopes: string[] }[] = [];
  const options: GatewayClientOptions = {
    clientName: 'cli',
    mode: 'cli',
    platform: 'linux',
    scopes: ['operator.read', 'operator.write'],
    deviceIdentity: {
      deviceId: createHash('sha256').update(spki.subarray(-32)).digest('hex'),
      privateKeyPem: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
      publicKeyPem: publicKey.export({ type: 'spki', format: 'pem' }) as string,
    },
    hostDeps: {
      signDevicePayload: (key, payload) =>
        sign(null, Buffer.from(payload), key).toString('base64url'),
      publicKeyRawBase64UrlFromPem: (pem) =>
        createPublicKey(pem)
          .export({ type: 'spki', format: 'der' })
          .subarray(-32)
          .toString('base64url'),
      loadDeviceAuthToken: () => kept.at(-1) ?? null,
      storeDeviceAuthToken: ({ token, scopes }) => kept.push({ token, scopes }),
      clearDeviceAuthToken: () => (kept.length = 0),
    },
  };
  return { options, kept };
};

describe('the reference client', () => {
  let url: string;
  let port: number;
  let program: Program;
  const start = async () => {
    program = await startProgram(join(data, 'alone'), port);
    running.push(program);
  };
  beforeAll(async () => {
    folderOf('alone', "{ gateway: { auth: { allowLocal: false, deviceIdentity: 'optional' } } }");
    port = await reservePort();
    url = `ws://127.0.0.1:${port}`;
    await start();
  }, timeout);

  it('receives the acceptance and the final answer of a run for one request, and its events in order', {
    timeout,
  }, async () => {
    const peer = new Peer({ url, token: TOKEN, caps: ['tool-events'] });
    await peer.hello();
    const { status, result } = await peer.run('what is 6 * 7?', 'one');
    expect(status).toBe('ok');
    expect(result.payloads[0]!.text).toMatch(/42/);
    const agent = peer.events.filter(({ event }) => event === 'agent');
    expect(agent.map(({ payload }) => (payload as { stream: string }).stream)).toEqual(
      expect.arrayContaining(['lifecycle', 'tool', 'assistant']),
    );
    const seqs = peer.events.flatMap(({ seq }) => seq ?? []);
    expect(seqs).toEqual(seqs.map((_, at) => seqs[0]! + at));
    expect(peer.gaps).toEqual([]);
    // A repeat with its key is the same run.
    expect(await peer.run('what is 6 * 7?', 'one')).toMatchObject({ runId: 'one', result });
  });

  it('is refused without a credential, with the code that stops its retries', {
    timeout,
  }, async () => {
    const peer = new Peer({ url, token: 'wrong' });
    await eventually(() => expect(peer.errors).not.toEqual([]));
    expect(peer.errors[0]!.details?.code).toMatch(/^AUTH_/);
    expect(peer.hellos).toEqual([]);
  });

  it('is approved by an operator, and then connects with the token of its device', {
    timeout,
  }, async () => {
    const operator = new Peer({
      url,
      token: TOKEN,
      scopes: ['operator.pairing', 'operator.admin'],
    });
    await operator.hello();
    const { options, kept } = device();
    const stranger = new Peer({ ...options, url, token: TOKEN });
    const asked = await eventually(() => {
      const [error] = stranger.errors;
      if (error === undefined) throw new Error('it was not refused');
      return error;
    });
    expect(asked.details).toMatchObject({ code: 'PAIRING_REQUIRED' });
    stranger.client.stop();
    type Pending = { pending: { requestId: string; deviceId: string }[] };
    const { pending } = await operator.call<Pending>('device.pair.list');
    expect(pending).toEqual([
      expect.objectContaining({ deviceId: options.deviceIdentity!.deviceId }),
    ]);
    await operator.call('device.pair.approve', { requestId: pending[0]!.requestId });

    const friend = new Peer({ ...options, url, token: TOKEN });
    const { auth } = await friend.hello();
    expect(kept.map(({ token }) => token)).toEqual([auth.deviceToken]);
    friend.client.stop();
    const alone = new Peer({ ...options, url });
    expect((await alone.hello()).auth.scopes).toEqual(
      expect.arrayContaining(['operator.read', 'operator.write']),
    );
    await alone.call('health');
    await operator.call('device.pair.remove', { deviceId: options.deviceIdentity!.deviceId });
    await eventually(() => expect(alone.errors).not.toEqual([]), timeout / 2);
  });

  it('reconnects by itself after kill -9, and the run of its key has continued', {
    timeout,
  }, async () => {
    const peer = new Peer({ url, token: TOKEN });
    const { server } = await peer.hello();
    const first = peer.run('[[words:60]] [[pace:20]] across', 'across').catch((error) => error);
    await eventually(() => expect(peer.events.map(({ event }) => event)).toContain('chat'));
    await kill(program);
    expect(await first).toBeInstanceOf(Error);
    await start();
    expect((await peer.hello(2)).server.bootId).not.toBe(server.bootId);
    const { status, result } = await peer.run('[[words:60]] [[pace:20]] across', 'across');
    expect(status).toBe('ok');
    expect(result.payloads[0]!.text.split(/\s+/)).toHaveLength(60);
  });
});

const server = natsServers().at(-1);
const leftOut = server ? '' : ' (left out: there is no nats-server here)';
describe.skipIf(!server)(`the reference client, two gateways behind one address${leftOut}`, () => {
  let nats: NatsServer;
  let address: Address;
  let gateways: readonly [Program, Program];
  beforeAll(async () => {
    nats = await startNats({ path: server!.path });
    const config = '{ cluster: { shards: 8 } }';
    running.push(await startWorker(folderOf('worker', config), 'worker', nats.url));
    const ports = [await reservePort(), await reservePort()] as const;
    gateways = [
      await startGateway(folderOf('one', config), ports[0], nats.url, 'one'),
      await startGateway(folderOf('two', config), ports[1], nats.url, 'two'),
    ];
    running.push(...gateways);
    address = await oneAddress([...ports]);
  }, timeout);
  afterAll(async () => {
    address?.close();
    await Promise.all(running.map(kill));
    await nats?.stop();
  });

  it('receives the result of the same run by its key when a gateway is killed during the run', {
    timeout,
  }, async () => {
    const watcher = new Peer({ url: gateways[1].url, token: TOKEN });
    await watcher.hello();
    const peer = new Peer({ url: address.url, token: TOKEN });
    const { server: before } = await peer.hello();
    const words = '[[words:80]] [[pace:20]] twice';
    const first = peer.run(words, 'twice').catch((error) => error);
    await eventually(() => expect(peer.events.map(({ event }) => event)).toContain('chat'));
    await kill(gateways[0]);
    expect(await first).toBeInstanceOf(Error);
    expect((await peer.hello(2)).server.bootId).not.toBe(before.bootId);
    const { status, runId, result } = await peer.run(words, 'twice');
    expect({ status, runId }).toEqual({ status: 'ok', runId: 'twice' });
    expect(result.payloads[0]!.text.split(/\s+/)).toHaveLength(80);
    // One run: one question and one answer, for every client.
    type History = { messages: { role: string; runId?: string }[] };
    const { messages } = await watcher.call<History>('chat.history', { sessionKey: MAIN });
    const mine = messages.filter((message) => message.runId === 'twice');
    expect(mine.map(({ role }) => role)).toEqual(['user', 'assistant']);
  });
});
