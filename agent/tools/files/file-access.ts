/** Shared by the file tools: the workspace of a call, and refusals as results. */
import { PathRefused } from './paths.ts';
import type { ToolContext, ToolResult } from '../tool.ts';

/**
 * The agent's folder, when the session may do `what` there. On the host `workspaceAccess` applies
 * as in the sandbox.
 *
 * @throws PathRefused
 */
export async function workspaceFor(what: 'read' | 'write', context: ToolContext): Promise<string> {
  const { workspaceAccess } = context.confinement;
  if (workspaceAccess === 'none') {
    throw new PathRefused('This session has no access to the workspace (workspaceAccess none).');
  }
  if (what === 'write' && workspaceAccess === 'ro') {
    throw new PathRefused('This session may only read the workspace (workspaceAccess ro).');
  }
  return (await context.workspace()).path;
}

/** Runs `work`; a PathRefused becomes a result for the model. */
export async function orRefusal(work: () => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof PathRefused) return { text: error.message, isError: true };
    throw error;
  }
}
