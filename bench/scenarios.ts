/** All scenarios of `npm run bench`, in the order in which they run. */
import { activation } from './activation.ts';
import { agent2agent } from './agent2agent.ts';
import { ask } from './ask.ts';
import { backup, clusterBackup } from './backup.ts';
import { busyDisk } from './busy-disk.ts';
import { channels } from './channels.ts';
import { clusterFailover, clusterFailoverCold } from './cluster-failover.ts';
import { clusterActors, clusterShards } from './cluster-growth.ts';
import { clusterLatency } from './cluster-latency.ts';
import { clusterRun } from './cluster-run.ts';
import { clusterTakeover } from './cluster-takeover.ts';
import { clusterPingpong, clusterSpawn } from './cluster-talk.ts';
import { clusterUpgrade } from './cluster-upgrade.ts';
import { cluster } from './cluster.ts';
import { commands } from './commands.ts';
import { crowd } from './crowd.ts';
import { edge } from './edge.ts';
import { gateway } from './gateway.ts';
import { history } from './history.ts';
import { hop } from './hop.ts';
import { idle } from './idle.ts';
import { limits } from './limits.ts';
import { mcp } from './mcp.ts';
import { memorySearch } from './memory-search.ts';
import { memoryVectors } from './memory-vectors.ts';
import { pingpong } from './pingpong.ts';
import { proofs } from './proofs.ts';
import { run } from './run.ts';
import { sagas } from './sagas.ts';
import { sessionsList } from './sessions-list.ts';
import { spawn } from './spawn.ts';
import { start } from './start.ts';
import { turn } from './turn.ts';
import type { Scenario } from './harness/scenario.ts';

export const scenarios: readonly Scenario[] = [
  limits,
  turn,
  history,
  hop,
  ask,
  busyDisk,
  backup,
  activation,
  idle,
  start,
  commands,
  run,
  crowd,
  spawn,
  pingpong,
  sessionsList,
  memorySearch,
  memoryVectors,
  gateway,
  channels,
  edge,
  agent2agent,
  mcp,
  sagas,
  proofs,
  cluster,
  clusterLatency,
  clusterFailover,
  clusterFailoverCold,
  clusterTakeover,
  clusterRun,
  clusterUpgrade,
  clusterBackup,
  clusterSpawn,
  clusterPingpong,
  clusterActors,
  clusterShards,
];
