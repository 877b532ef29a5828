/** The context of a tool in tests: no actors and no rows, unless the test adds them. */
import type { Address } from '../../../protocols/address.ts';
import { createModelCatalog } from '../../../agent/models/catalog.ts';
import { NO_SECRETS } from '../../../agent/tools/secret-mask.ts';
import type { ToolContext, ToolSystem } from '../../../agent/tools/tool.ts';
import { systemClock } from '../../../runtime/index.ts';
import { NO_TALK } from '../../servers/talk-rules.ts';

const noSystem: ToolSystem = {
  ask: () => Promise.reject(new Error('this test has no actors')),
  index: () => Promise.reject(new Error('this test has no rows')),
  transcript: () => {
    throw new Error('this test has no transcript');
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
  workspace: () => Promise.reject(new Error('this test has no workspace')),
  workspaceOf: 'default/agent/main' as Address,
  update: () => {},
  system: noSystem,
  installed: [],
  models: createModelCatalog({ providers: {} }, { clock: systemClock }),
  talk: NO_TALK,
  env: {},
  secrets: NO_SECRETS,
  ...changes,
});
