import { DiscardPolicy, jetstreamManager, StorageType } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NatsBlobs } from '../../../runtime/blobs/nats-blobs.ts';
import { type NatsServer, natsServers, startNats } from '../../servers/nats.ts';
import { blobsContract } from './contract.ts';

const servers = natsServers();
let made = 0;

const openBlobs = async (nc: NatsConnection) => {
  const env = `e${++made}`;
  const stream = `blobs-${env}`;
  const manager = await jetstreamManager(nc);
  await manager.streams.add({
    name: stream,
    subjects: [`blb.${env}.>`],
    storage: StorageType.File,
    discard: DiscardPolicy.New,
  });
  return { manager, stream, env, blobs: new NatsBlobs(nc, { stream, env }) };
};

describe.skipIf(servers.length === 0)('blobs on NATS (no nats-server is at hand)', () => {
  describe.each(servers)('$version', ({ path, version }) => {
    let server: NatsServer;
    let nc: NatsConnection;
    beforeAll(async () => {
      server = await startNats({ path });
      nc = await connect({ servers: server.url, maxReconnectAttempts: -1, reconnectTimeWait: 50 });
    });
    afterAll(async () => {
      await nc?.close();
      await server?.stop();
    });

    blobsContract(`NATS ${version}`, async () => {
      const { stream, env, blobs, manager } = await openBlobs(nc);
      return {
        blobs,
        reopen: async () => new NatsBlobs(nc, { stream, env }),
        dispose: async () => void (await manager.streams.delete(stream)),
      };
    });

    it('says that a blob is damaged when a chunk of it is gone or another', async () => {
      const { manager, stream, env, blobs } = await openBlobs(nc);
      await blobs.put('snap/a', Buffer.alloc(1_000_000, 7));
      const filter = `blb.${env}.*.c.*.2`;
      const { state } = await manager.streams.info(stream, { subjects_filter: filter });
      const [chunk] = Object.keys(state.subjects ?? {});
      nc.publish(chunk!, Buffer.alloc(10));
      await nc.flush();
      await expect(blobs.get('snap/a')).rejects.toMatchObject({ details: { reason: 'CORRUPT' } });
      await manager.streams.purge(stream, { filter: chunk! });
      await expect(blobs.get('snap/a')).rejects.toThrow(/chunk 2 of 4 is missing/);
    });

    it('lets one of two writers win, whichever, and keeps nothing of the other', async () => {
      const { manager, stream, env, blobs } = await openBlobs(nc);
      const other = new NatsBlobs(nc, { stream, env });
      const [a, b] = [Buffer.alloc(900_000, 1), Buffer.alloc(900_000, 2)];
      const puts = await Promise.allSettled([blobs.put('n', a), other.put('n', b)]);
      expect(puts.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      const won = puts[0]!.status === 'fulfilled' ? a : b;
      expect(won.equals((await blobs.get('n'))!)).toBe(true);
      const { state } = await manager.streams.info(stream);
      expect(state.messages).toBe(1 + Math.ceil(900_000 / (256 * 1024)));
    });

    it('shows nothing of a put whose server was killed under it, and takes it again', async () => {
      const { blobs } = await openBlobs(nc);
      const large = Buffer.alloc(20_000_000, 5);
      const cut = blobs.put('n', large);
      const settled = Promise.allSettled([cut]);
      await new Promise((resolve) => setImmediate(resolve));
      await server.kill('SIGKILL');
      server = await startNats({ path, folder: server.folder, port: server.port });
      await settled;
      await blobs.put('n', large);
      expect(large.equals((await blobs.get('n'))!)).toBe(true);
    });
  });
});
