/** A real system whose subagents are behind real HTTP, for tests of the routes and commands. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { routeListener } from '../../../channels/http/listener.ts';
import { header } from '../../../channels/http/route.ts';
import { subagentRoutes } from '../../../channels/http/subagents.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import type { System } from '../../../runtime/index.ts';
import { dataFolder, openRealSystem } from '../gateway/real-system.ts';

export const SECRET = 'the-operators-own';

export type SubagentDoor = {
  readonly system: System;
  /** `http://127.0.0.1:port` */
  readonly url: string;
  /** The clock of who looks goes on by so much, milliseconds; timers know nothing of it. */
  lookLater(byMs: number): void;
};

/** Whoever shows the secret is the operator `op`. */
export async function openSubagents(): Promise<SubagentDoor> {
  const folder = dataFolder();
  const system = await openRealSystem(folder.path, 0);
  let aheadMs = 0;
  const routes = subagentRoutes({
    system,
    now: () => Date.now() + aheadMs,
    operator: ({ request }) =>
      header(request, 'authorization') === `Bearer ${SECRET}`
        ? Promise.resolve({ sub: 'op' })
        : Promise.reject(new TroupeError('FORBIDDEN', 'this is for operators')),
  });
  const listen = routeListener({ routes, log: { error: () => {} } });
  const server = createServer((request, response) => {
    if (!listen(request, response)) response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.close();
    await system.stop();
    folder.remove();
  });
  const { port } = server.address() as AddressInfo;
  return {
    system,
    url: `http://127.0.0.1:${port}`,
    lookLater: (byMs) => void (aheadMs += byMs),
  };
}
