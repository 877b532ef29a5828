/** The built-in tools of a tenant, by its configuration. */
import { createSandbox } from '../agent/sandbox/choose.ts';
import { createHostBoundary } from '../agent/sandbox/host.ts';
import type { RemoteAgents } from '../agent/agent2agent/directory.ts';
import { createA2aTools } from '../agent/tools/a2a/a2a-tools.ts';
import { basicTools } from '../agent/tools/basic/basic-tools.ts';
import { createHostTools } from '../agent/tools/host-tools.ts';
import { createMemoryTools } from '../agent/tools/memory/memory-tools.ts';
import { createNodeTools } from '../agent/tools/nodes/nodes.ts';
import { createTalkTools } from '../agent/tools/sessions/session-sending-tools.ts';
import { createReadingTools } from '../agent/tools/sessions/session-reading-tools.ts';
import type { SessionFacts } from '../agent/tools/sessions/session-status.ts';
import type { Tool } from '../agent/tools/tool.ts';
import { createWebTools } from '../agent/tools/web/web-tools.ts';
import { payloadsIn } from '../channels/gateway/devices/node-payloads.ts';
import { defined } from '../protocols/defined.ts';
import type { Config } from '../runtime/config/index.ts';
import { type Artifacts, systemClock } from '../runtime/index.ts';
import type { MemoryParts } from './memory-options.ts';
import { skillsFolderOf } from './skills-folder.ts';
import { staysInPlace } from './workspaces.ts';

export type TenantToolsOptions = {
  readonly clustered: boolean;
  /** stores long answers of devices, and files of messages */
  readonly bucket: Promise<Artifacts>;
  readonly facts: SessionFacts;
  readonly memory: MemoryParts;
  /** agents outside */
  readonly remoteAgents: RemoteAgents;
};

/** Starts nothing: a sandbox or a browser starts with the first call that needs it. */
export const toolsOf = (
  config: Config,
  { clustered, bucket, facts, memory, remoteAgents }: TenantToolsOptions,
): readonly Tool[] => [
  ...basicTools,
  ...createReadingTools(facts),
  ...createTalkTools(),
  ...createMemoryTools(memory.options, memory.indexes),
  ...hostTools(config, clustered),
  ...webTools(config, bucket),
  ...createA2aTools(remoteAgents),
  ...createNodeTools({ file: payloadsIn(bucket).get }),
];

/** Tools that use this machine: files, and commands behind a boundary. */
function hostTools(config: Config, clustered: boolean): readonly Tool[] {
  const { boundary, image, network, timeoutSeconds, memoryMb } = config.tools.exec;
  return createHostTools({
    boundaries: { sandbox: createSandbox({ boundary, image }), host: createHostBoundary() },
    network,
    timeoutSeconds,
    memoryMb,
    skillsFolder: skillsFolderOf(config),
    workspacesShared: staysInPlace(config, clustered),
  });
}

/** Tools that connect to other servers. */
function webTools(
  { tools: { web, browser } }: Config,
  bucket: Promise<Artifacts>,
): readonly Tool[] {
  const { provider, apiKey, baseUrl } = web.search;
  return createWebTools({
    clock: systemClock,
    bucket,
    search: defined({ provider, apiKey: apiKey?.reveal(), baseUrl }),
    allowPrivate: web.allowPrivate,
    bytesMax: web.maxBytes,
    browser,
  });
}
