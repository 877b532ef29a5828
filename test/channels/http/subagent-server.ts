/** A real system whose subagents are behind real HTTP, for tests of requests and commands. */
import { onTestFinished } from 'vitest';
import type { System } from '../../../runtime/index.ts';
import { dataFolder, openRealSystem } from '../gateway/real-system.ts';
import { serveRoutes, testOperations } from './operation-server.ts';

export { SECRET } from './operation-server.ts';

export type SubagentServer = {
  readonly system: System;
  /** `http://127.0.0.1:port` */
  readonly url: string;
  /** Advances the clock of operations, in milliseconds; timers are not affected. */
  lookLater(byMs: number): void;
};

export async function openSubagents(): Promise<SubagentServer> {
  const folder = dataFolder();
  const system = await openRealSystem(folder.path, 0);
  let aheadMs = 0;
  onTestFinished(async () => {
    await system.stop();
    folder.remove();
  });
  const { url } = await serveRoutes(testOperations({ system, now: () => Date.now() + aheadMs }));
  return { system, url, lookLater: (byMs) => void (aheadMs += byMs) };
}
