/** Suites that need a real NATS. Apart from nats.ts, which programs without vitest use as well. */
import { describe } from 'vitest';
import { type NatsServerProgram, natsServers } from '../../tools/nats.mjs';

/** The suite for every server at hand; where there is none it is skipped, and its name says why. */
export const describeOnNats = (name: string, suite: (server: NatsServerProgram) => void): void => {
  const found = natsServers();
  const none = { version: 'none: there is no nats-server here', path: '' };
  for (const server of found.length > 0 ? found : [none]) {
    describe.skipIf(server === none)(`${name}, NATS ${server.version}`, () => {
      suite(server);
    });
  }
};
