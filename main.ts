/**
 * The composition root: creates a running process from a configuration: all of troupe on its
 * embedded store, or a gateway or a worker of a cluster. All wiring is behind these functions.
 */
export {
  type Node,
  type NodeOptions,
  startClusterGateway,
  startWorker,
} from './compose/cluster.ts';
export { startTroupe, type Troupe } from './compose/embedded.ts';
export { type DrawnTrace, drawTrace } from './compose/run-trace.ts';
export type { OwnAgents } from './compose/task-parts.ts';
export { ownFolders } from './installation/own-folders.ts';
export { applySettings } from './installation/root-settings.ts';
