/** What the file tools share: the workspace that a call may use, and refusals as results. */
import { PathRefused } from './paths.ts';
import type { ToolContext, ToolResult } from '../tool.ts';

/**
 * The agent's folder, when the session may do `what` there. On the host `workspaceAccess` counts as
 * it does in the sandbox.
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

/** Does `work`; a refusal becomes a result that the model reads. */
export async function orRefusal(work: () => Promise<ToolResult>): Promise<ToolResult> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof PathRefused) return { text: error.message, isError: true };
    throw error;
  }
}
