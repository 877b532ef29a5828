import { afterAll, beforeAll } from 'vitest';
import { type LogUnderTest, logContract } from './contract.ts';
import {
  connectTo,
  makeStream,
  onEveryNats,
  openLog,
  type RestartableNats,
  restartableNats,
} from './nats-under-test.ts';

onEveryNats('NatsLog', (path, version) => {
  let server: RestartableNats;
  beforeAll(async () => {
    server = await restartableNats(path);
  });
  afterAll(() => server.stop());

  const open = async (existing?: string): Promise<LogUnderTest> => {
    const nc = await connectTo(server.port);
    const stream = existing ?? (await makeStream(nc));
    const log = await openLog(nc, stream);
    return {
      log,
      reopen: async () => {
        await log.close();
        await nc.close();
        await server.restart('SIGTERM');
        return open(stream);
      },
      dispose: async () => {
        await log.close();
        await nc.close();
      },
    };
  };
  logContract(`NATS ${version}`, () => open());
});
