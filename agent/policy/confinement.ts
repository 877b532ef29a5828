/** Confinement: the one place that decides what a session may touch. */
import type { AgentSettings, SandboxPolicy } from '../../protocols/agent.ts';
import { sessionKey as keys } from '../../protocols/session-key.ts';
import type { Confinement } from '../tools/tool.ts';

/** Of an agent whose settings say nothing of it. */
const SANDBOX_DEFAULT: SandboxPolicy = {
  mode: 'non-main',
  workspaceAccess: 'rw',
  allow: [],
  deny: [],
};

export const sandboxOf = ({ sandbox = SANDBOX_DEFAULT }: AgentSettings): SandboxPolicy => sandbox;

/**
 * What the tools of a session may touch. The main session of an agent (`agent:<id>:<mainKey>`) is
 * the one that its owner talks in; every other one is sandboxed by mode `non-main`. What is not
 * sandboxed has the whole workspace.
 */
export const confinementOf = (settings: AgentSettings, sessionKey: string): Confinement => {
  const { mode, workspaceAccess, mainKey } = sandboxOf(settings);
  const isMain = sessionKey === keys.main(settings.agentId, mainKey);
  const sandboxed = mode === 'always' || (mode === 'non-main' && !isMain);
  return { sandboxed, workspaceAccess: sandboxed ? workspaceAccess : 'rw' };
};
