/** What a tool is given in tests: nothing behind it, unless the test says so. */
import type { ToolContext, ToolSystem } from '../../../../actors/agent/tools/tool.ts';

const nobody: ToolSystem = {
  ask: () => Promise.reject(new Error('nobody is asked here')),
  index: () => Promise.reject(new Error('there are no rows here')),
};

export const toolContext = (changes: Partial<ToolContext> = {}): ToolContext => ({
  signal: new AbortController().signal,
  idempotencyKey: 'run-1|call-1',
  now: Date.parse('2026-03-01T12:00:00Z'),
  tenant: 'default',
  agentId: 'main',
  sessionKey: 'agent:main:main',
  runId: 'run-1',
  confinement: { sandboxed: false, workspaceAccess: 'rw' },
  workspace: () => Promise.reject(new Error('there is no workspace here')),
  update: () => {},
  system: nobody,
  env: {},
  ...changes,
});
