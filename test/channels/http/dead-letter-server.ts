/** A real system whose dead letters are behind real HTTP, for tests of the routes and commands. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { deadLetterRoutes } from '../../../channels/http/dead-letters.ts';
import { routeListener } from '../../../channels/http/listener.ts';
import { header } from '../../../channels/http/route.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { openWorld, puppet, type World } from '../../runtime/system/world.ts';

export const SECRET = 'the-operators-own';

export type DeadLetterDoor = {
  readonly world: World;
  /** `http://127.0.0.1:port` */
  readonly url: string;
  /** what failed in a way that no route expects */
  readonly faults: string[];
  readonly server: Server;
};

/** Whoever shows the secret is the operator `op`. */
export async function openDoor(): Promise<DeadLetterDoor> {
  const world = await openWorld();
  const faults: string[] = [];
  const routes = deadLetterRoutes({
    system: world.system,
    operator: async ({ request }) => {
      const given = header(request, 'authorization');
      if (given === `Bearer ${SECRET}`) return { sub: 'op' };
      throw given === undefined
        ? new TroupeError('UNAUTHORIZED', 'show the token of the gateway')
        : new TroupeError('FORBIDDEN', 'this is for operators');
    },
  });
  const log = { error: (_: object, message: string) => void faults.push(message) };
  const listen = routeListener({ routes, log });
  const server = createServer((request, response) => {
    if (!listen(request, response)) response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { world, url: `http://127.0.0.1:${port}`, faults, server };
}

/** Gives up `do` messages to the puppet `b`, numbered from 1. */
export async function abandon(world: World, domain: string, count: number): Promise<void> {
  const before = (await world.system.deadLetters.list({ domain })).length;
  const error = {
    code: 'UNAVAILABLE',
    message: `${domain} did not answer`,
    details: { tries: 7 },
    retryAfterMs: 1_500,
  };
  const abandons = Array.from({ length: count }, (_, n) => {
    const event = { type: 'do', n: n + 1, bytes: Buffer.from('bytes') };
    return { domain, reason: 'EXHAUSTED', error, to: puppet('b'), event };
  });
  await world.ask(puppet('a'), { type: 'do', abandons });
  await world.letters(before + count);
}
