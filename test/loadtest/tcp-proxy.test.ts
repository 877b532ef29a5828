import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../runtime/eventually.ts';
import { startTcpProxy, type TcpProxy } from '../../loadtest/faults/tcp-proxy.ts';

describe('a TCP proxy for partitions', () => {
  let received = '';
  let peers: Socket[] = [];
  const server = createServer((peer) => {
    peers.push(peer);
    peer.on('data', (bytes) => (received += String(bytes))).on('error', () => {});
  });
  let proxy: TcpProxy;

  beforeEach(async () => {
    received = '';
    peers = [];
    await once(server.listen(0, '127.0.0.1'), 'listening');
    proxy = await startTcpProxy((server.address() as AddressInfo).port);
  });
  afterEach(async () => {
    await proxy.close();
    await new Promise((resolve) => server.close(resolve));
  });

  const dial = async (): Promise<Socket> => {
    const client = connect(proxy.port, '127.0.0.1').on('error', () => {});
    await once(client, 'connect');
    return client;
  };

  it('is silent while paused, and then passes all bytes in order', async () => {
    const client = await dial();
    client.write('one ');
    await eventually(() => expect(received).toBe('one '));
    proxy.pause();
    client.write('two ');
    const second = await dial();
    second.destroy();
    expect(received).toBe('one ');
    proxy.resume();
    client.write('three');
    await eventually(() => expect(received).toBe('one two three'));
    client.destroy();
  });

  it('delivers delayed bytes after their sender has gone', async () => {
    const client = await dial();
    proxy.delay(100);
    client.end('late');
    await once(client, 'close');
    await eventually(() => expect(received).toBe('late'));
  });

  it('cuts both sides, and refuses new connections on request', async () => {
    const client = await dial();
    await eventually(() => expect(peers).toHaveLength(1));
    proxy.cut();
    await once(client, 'close');
    await eventually(() => expect(peers[0]!.destroyed).toBe(true));
    proxy.refuse(true);
    await once(await dial(), 'close');
    expect(peers).toHaveLength(1);
    proxy.refuse(false);
    const again = await dial();
    again.write('again');
    await eventually(() => expect(received).toBe('again'));
    again.destroy();
  });
});
