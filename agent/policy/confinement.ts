/** Confinement: decides what the tools of a session may access. */
import type { AgentSettings, SandboxPolicy } from '../../protocols/agent.ts';
import { sessionKey as keys } from '../../protocols/session-key.ts';
import type { Confinement } from '../tools/tool.ts';

/** Default of agents without sandbox settings. */
const SANDBOX_DEFAULT: SandboxPolicy = {
  mode: 'non-main',
  workspaceAccess: 'rw',
  allow: [],
  deny: [],
};

export const sandboxOf = ({ sandbox = SANDBOX_DEFAULT }: AgentSettings): SandboxPolicy => sandbox;

/**
 * What the tools of a session may access. In mode `non-main`, every session is sandboxed except the
 * agent's main session (`agent:<id>:<mainKey>`), which its owner uses. A session that is not
 * sandboxed has the whole workspace.
 */
export const confinementOf = (settings: AgentSettings, sessionKey: string): Confinement => {
  const { mode, workspaceAccess, mainKey } = sandboxOf(settings);
  const isMain = sessionKey === keys.main(settings.agentId, mainKey);
  const sandboxed = mode === 'always' || (mode === 'non-main' && !isMain);
  return { sandboxed, workspaceAccess: sandboxed ? workspaceAccess : 'rw' };
};
