/**
 * Suites that need a real NATS server. Separate from nats.ts, which programs without vitest also
 * use.
 */
import { describe } from 'vitest';
import { type NatsServerProgram, natsServers } from '../../tools/nats.mjs';

/** Runs the suite on every available server. Without one it is skipped, and its name says why. */
export const describeOnNats = (name: string, suite: (server: NatsServerProgram) => void): void => {
  const found = natsServers();
  const none = { version: 'none: there is no nats-server here', path: '' };
  for (const server of found.length > 0 ? found : [none]) {
    describe.skipIf(server === none)(`${name}, NATS ${server.version}`, () => {
      suite(server);
    });
  }
};
