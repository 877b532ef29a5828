/**
 * The composition root: creates a running process from a configuration: all of troupe on its
 * embedded store, or a gateway or a worker of a cluster. All wiring is behind these functions.
 */
import type * as cluster from './compose/cluster.ts';

/** As in compose/cluster.ts, which is loaded with the first call. */
export const startClusterGateway: typeof cluster.startClusterGateway = async (...about) =>
  (await import('./compose/cluster.ts')).startClusterGateway(...about);
/** As in compose/cluster.ts, which is loaded with the first call. */
export const startWorker: typeof cluster.startWorker = async (...about) =>
  (await import('./compose/cluster.ts')).startWorker(...about);

export type { Node, NodeOptions } from './compose/cluster.ts';
export { startTroupe, type Troupe } from './compose/embedded.ts';
export { type DrawnTrace, drawTrace } from './compose/run-trace.ts';
export type { OwnAgents } from './compose/task-parts.ts';
export { ownFolders } from './installation/own-folders.ts';
export { applySettings } from './installation/root-settings.ts';
