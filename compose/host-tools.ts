/** The tools that use this machine, by configuration: files, and commands behind a boundary. */
import { createSandbox } from '../agent/sandbox/choose.ts';
import { createHostBoundary } from '../agent/sandbox/host.ts';
import { createHostTools } from '../agent/tools/host-tools.ts';
import type { Tool } from '../agent/tools/tool.ts';
import type { Config } from '../runtime/config/index.ts';
import { skillsFolderOf } from '../installation/skills-folder.ts';
import { staysInPlace } from '../installation/workspaces.ts';

/** Starts nothing: the sandbox is first used by the first command that needs it. */
export function hostToolsOf(config: Config, clustered: boolean): readonly Tool[] {
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
