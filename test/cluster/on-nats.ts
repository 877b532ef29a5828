/**
 * Runs suites of `test/runtime/system` on a cluster, unchanged: on the newest available NATS
 * server, or on each with TROUPE_NATS_ALL=1. A file has a separate server, and each world a cell on
 * it.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { chooseBackbone } from '../runtime/system/backbone.ts';
import { type NatsServer, natsServers, startNats } from '../servers/nats.ts';
import { OnNats } from './backbone.ts';

const folder = join(import.meta.dirname, '../runtime/system');
const found = natsServers();
const chosen = process.env['TROUPE_NATS_ALL'] === '1' ? found : found.slice(-1);
const none = { version: 'none: there is no nats-server here', path: '' };

/** @param suites names of files there: `delivery` is `delivery.test.ts` */
export const runOnNats = (...suites: readonly string[]): void => {
  for (const server of chosen.length > 0 ? chosen : [none]) {
    const { version, path } = server;
    describe.skipIf(server === none)(`on NATS ${version}`, async () => {
      let running: NatsServer;
      beforeAll(async () => {
        running = await startNats({ path });
        chooseBackbone(new OnNats(() => running.url));
      });
      afterAll(() => running.stop());
      // A module is evaluated once, unless it is imported under another name.
      for (const suite of suites) await import(`${join(folder, suite)}.test.ts?${version}.ts`);
    });
  }
};
