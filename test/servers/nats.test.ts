import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { expect, it } from 'vitest';
import { describeOnNats } from './describe-on-nats.ts';
import { startNats } from './nats.ts';

describeOnNats('a nats-server for tests', ({ path, version }) => {
  it('keeps its messages after kill -9', async () => {
    const first = await startNats({ path });
    const before = await connect({ servers: first.url });
    expect(before.info?.version).toBe(version);
    await (await jetstreamManager(before)).streams.add({ name: 's', subjects: ['s.>'] });
    await jetstream(before).publish('s.1', 'one');
    await before.close();
    await first.kill('SIGKILL');
    const again = await startNats({ path, folder: first.folder, port: first.port });
    expect(again.port).toBe(first.port);
    const nc = await connect({ servers: again.url });
    const found = await (await jetstreamManager(nc)).streams.getMessage('s', { seq: 1 });
    expect(found?.string()).toBe('one');
    await nc.close();
    await again.stop();
    await again.stop();
  });

  it('accepts additional configuration, and reports its faults', async () => {
    const server = await startNats({ path, config: 'max_payload: 9000' });
    const nc = await connect({ servers: server.url });
    expect(nc.info?.max_payload).toBe(9000);
    await nc.close();
    await server.stop();
    await expect(startNats({ path, config: 'nonsense {' })).rejects.toThrow(
      /ended at its start:\n.+/s,
    );
  });
});
