/** A real system whose schedules are behind real HTTP, for tests of requests and commands. */
import { onTestFinished } from 'vitest';
import type { System } from '../../../runtime/index.ts';
import { dataFolder, openRealSystem } from '../gateway/real-system.ts';
import { serveRoutes, testOperations } from './operation-server.ts';

export { SECRET } from './operation-server.ts';

export type ScheduleServer = {
  readonly system: System;
  /** `http://127.0.0.1:port` */
  readonly url: string;
};

/** With the agents `main` and `second`. */
export async function openSchedules(): Promise<ScheduleServer> {
  const folder = dataFolder();
  const system = await openRealSystem(folder.path, 0);
  onTestFinished(async () => {
    await system.stop();
    folder.remove();
  });
  const { url } = await serveRoutes(testOperations({ system }));
  return { system, url };
}
