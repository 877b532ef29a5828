/** What a tool is given in tests: nothing behind it, unless the test says so. */
import { createModelCatalog } from '../../../agent/models/catalog.ts';
import { NO_SECRETS } from '../../../agent/tools/secret-mask.ts';
import type { ToolContext, ToolSystem } from '../../../agent/tools/tool.ts';
import { systemClock } from '../../../runtime/index.ts';
import { NO_TALK } from '../../servers/talk-rules.ts';

const nobody: ToolSystem = {
  ask: () => Promise.reject(new Error('nobody is asked here')),
  index: () => Promise.reject(new Error('there are no rows here')),
  transcript: () => {
    throw new Error('there is no transcript here');
  },
};

export const toolContext = (changes: Partial<ToolContext> = {}): ToolContext => ({
  signal: new AbortController().signal,
  idempotencyKey: 'run-1|call-1',
  now: Date.parse('2026-03-01T12:00:00Z'),
  tenant: 'default',
  agentId: 'main',
  sessionKey: 'agent:main:main',
  runId: 'run-1',
  callId: 'call-1',
  confinement: { sandboxed: false, workspaceAccess: 'rw' },
  workspace: () => Promise.reject(new Error('there is no workspace here')),
  update: () => {},
  system: nobody,
  installed: [],
  models: createModelCatalog({ providers: {} }, { clock: systemClock }),
  talk: NO_TALK,
  env: {},
  secrets: NO_SECRETS,
  ...changes,
});
