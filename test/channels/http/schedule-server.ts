/** A real system whose schedules are behind real HTTP, for tests of the routes and commands. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { routeListener } from '../../../channels/http/listener.ts';
import { header } from '../../../channels/http/route.ts';
import { scheduleRoutes } from '../../../channels/http/schedules.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import type { System } from '../../../runtime/index.ts';
import { MODELS } from '../gateway/client.ts';
import { dataFolder, openRealSystem } from '../gateway/real-system.ts';

export const SECRET = 'the-operators-own';

export type ScheduleDoor = {
  readonly system: System;
  /** `http://127.0.0.1:port` */
  readonly url: string;
};

/** With the agents `main` and `second`; whoever shows the secret is the operator `op`. */
export async function openSchedules(): Promise<ScheduleDoor> {
  const folder = dataFolder();
  const system = await openRealSystem(folder.path, 0);
  const routes = scheduleRoutes({
    system,
    models: () => MODELS,
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
  return { system, url: `http://127.0.0.1:${port}` };
}
