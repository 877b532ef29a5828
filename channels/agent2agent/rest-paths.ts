/** Methods and paths of the HTTP+JSON binding, below the URL of the interface. */
import type { Route } from '../http/route.ts';

const CONFIGS = '/tasks/{id}/pushNotificationConfigs';

/** A path with a verb comes before the same one without. */
export const REST_PATHS = {
  sendMessage: ['POST', '/message:send'],
  streamMessage: ['POST', '/message:stream'],
  listTasks: ['GET', '/tasks'],
  cancelTask: ['POST', '/tasks/{id}:cancel'],
  subscribe: ['POST', '/tasks/{id}:subscribe'],
  subscribeByGet: ['GET', '/tasks/{id}:subscribe'],
  getTask: ['GET', '/tasks/{id}'],
  createConfig: ['POST', CONFIGS],
  listConfigs: ['GET', CONFIGS],
  getConfig: ['GET', `${CONFIGS}/{configId}`],
  deleteConfig: ['DELETE', `${CONFIGS}/{configId}`],
  extendedCard: ['GET', '/extendedAgentCard'],
} as const satisfies Record<string, readonly [Route['method'], string]>;

export type RestOperation = keyof typeof REST_PATHS;
