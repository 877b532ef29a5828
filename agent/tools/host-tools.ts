/** The tools that use the machine: files of the workspace, and commands behind a boundary. */
import { createEditTool } from './files/edit.ts';
import { createExecTool, type ExecOptions } from './exec/exec.ts';
import { createProcessTool } from './exec/process.ts';
import { createProcesses } from './exec/processes.ts';
import { createReadTool } from './files/read.ts';
import type { Tool } from './tool.ts';
import { createWriteTool } from './files/write.ts';

export type HostToolsOptions = ExecOptions & {
  /** folder of the shared skills, absolute: the read tool's path `/skills` */
  readonly skillsFolder?: string;
};

/** One set per worker, because each set has its own list of background commands. */
export function createHostTools(options: HostToolsOptions): readonly Tool[] {
  const processes = createProcesses();
  return [
    createExecTool(options, processes),
    createProcessTool(processes),
    createReadTool(options.skillsFolder),
    createWriteTool(),
    createEditTool(),
  ];
}
