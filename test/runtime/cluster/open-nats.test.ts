import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../../runtime/clock/clock.ts';
import type { NatsPorts } from '../../../runtime/cluster/nats-ports.ts';
import { openNats } from '../../../runtime/cluster/open-nats.ts';
import { createMemoryStore } from '../../../runtime/log/memory.ts';
import { startNats, type NatsServer } from '../../servers/nats.ts';
import { eventually } from '../eventually.ts';
import { onEveryNats } from '../log/nats-under-test.ts';

onEveryNats('a node on NATS', (path) => {
  let server: NatsServer;
  let said: string[];
  const open = (shards = 8): Promise<NatsPorts> =>
    openNats({
      servers: [server.url],
      env: 'test',
      shards,
      state: () => createMemoryStore({ clock: systemClock, atomic: false }).state,
      onAlarm: (what) => said.push(what),
    });
  beforeEach(async () => {
    said = [];
    server = await startNats({ path });
  });
  afterEach(() => server.stop());

  it('joins the cell of every other node, and keeps its shard count', async () => {
    const nodes = await Promise.all([open(), open(), open()]);
    expect(new Set(nodes.map(({ store }) => store.cell)).size).toBe(1);
    expect(said).toEqual([]);
    const late = await open(64);
    expect([late.shards, late.store.cell]).toEqual([8, nodes[0]?.store.cell]);
    expect(said.join()).toContain('64 shards were requested');
    await Promise.all([...nodes, late].map(({ store }) => store.close()));
  });

  it('reads what another node wrote to the log, the bus and the blobs', async () => {
    const [one, other] = await Promise.all([open(), open()]);
    const follow = other.store.log.follow('mbx.test.3.data', 1);
    await one.store.log.append('mbx.test.3.data', Buffer.from('mail'));
    expect(Buffer.from((await follow.next())[0]!.bytes).toString()).toBe('mail');
    follow.close();
    const large = Buffer.alloc(3 * 2 ** 20, 5);
    await one.store.log.append('trn.test.t.agent.k', large);
    const read = await other.store.log.readLast('trn.test.t.agent.k');
    expect(large.equals(read!.bytes)).toBe(true);
    await one.store.log.append('trn.test.t.agent.k', Buffer.from('behind'));
    expect(await other.blobs.list('big/')).toHaveLength(1);
    await other.store.log.trim('trn.test.t.agent.k', read!.position);
    expect(await one.blobs.list('big/')).toEqual([]);
    await one.blobs.put('snap/x/1', Buffer.from('rows'));
    expect(Buffer.from((await other.blobs.get('snap/x/1'))!).toString()).toBe('rows');
    const heard: unknown[] = [];
    other.bus.subscribe('topic.*', ({ payload }) => heard.push(payload));
    await eventually(() => {
      one.bus.publish('topic.a', { said: 1 });
      expect(heard).toContainEqual({ said: 1 });
    });
    for (const { bus, store } of [one, other]) {
      await bus.close();
      await store.close();
    }
  });

  it('waits for a server that starts late', async () => {
    await server.kill('SIGKILL');
    const opening = open();
    const late = await startNats({ path, folder: server.folder, port: server.port });
    const { store } = await opening;
    expect(await store.log.last('cell.test')).toBeGreaterThan(0);
    await store.close();
    await late.stop();
  });

  it('closes even while the server is absent', async () => {
    const { store, bus } = await open();
    await server.kill('SIGKILL');
    await bus.close();
    await store.close();
    await expect(store.log.last('cell.test')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});
