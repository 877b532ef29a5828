/** A real system whose dead letters are behind real HTTP, for tests of the routes and commands. */
import { openWorld, puppet, type World } from '../../runtime/system/world.ts';
import { type OperationServer, serveRoutes, testOperations } from './operation-server.ts';

export { SECRET } from './operation-server.ts';

export type DeadLetterServer = OperationServer & { readonly world: World };

export async function openDoor(): Promise<DeadLetterServer> {
  const world = await openWorld();
  return { world, ...(await serveRoutes(testOperations({ system: world.system }))) };
}

/** Creates dead letters of `do` messages to the puppet `b`, numbered from 1. */
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
