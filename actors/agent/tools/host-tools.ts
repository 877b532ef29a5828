/** The tools that touch the machine: files of the workspace, and commands behind a boundary. */
import { createEditTool } from './edit.ts';
import { createExecTool, type ExecOptions } from './exec.ts';
import { createProcessTool } from './process.ts';
import { createProcesses } from './processes.ts';
import { createReadTool } from './read.ts';
import type { Tool } from './tool.ts';
import { createWriteTool } from './write.ts';

/** One set per worker: background commands are known to the set that started them. */
export function createHostTools(options: ExecOptions): readonly Tool[] {
  const processes = createProcesses();
  return [
    createExecTool(options, processes),
    createProcessTool(processes),
    createReadTool(),
    createWriteTool(),
    createEditTool(),
  ];
}
