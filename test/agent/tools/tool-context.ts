/** The context of a tool, for tests that call a tool directly. */
import type { Address } from '../../../protocols/address.ts';
import { createModelCatalog } from '../../../agent/models/catalog.ts';
import { NO_SECRETS } from '../../../agent/tools/secret-mask.ts';
import type { ToolContext } from '../../../agent/tools/tool.ts';
import { systemClock } from '../../../runtime/index.ts';
import { NO_TALK } from '../../servers/talk-rules.ts';

/** A call on the host without a workspace or actors; tests override what they need. */
export const toolContext = (over: Partial<ToolContext> = {}): ToolContext => ({
  signal: new AbortController().signal,
  idempotencyKey: 'intent-1',
  now: Date.UTC(2026, 2, 3, 13, 5, 9),
  tenant: 'default',
  agentId: 'main',
  sessionKey: 'agent:main:main',
  runId: 'run-1',
  callId: 'call-1',
  confinement: { sandboxed: false, workspaceAccess: 'rw' },
  workspace: () => Promise.reject(new Error('this test has no workspace')),
  workspaceOf: 'default/agent/main' as Address,
  update: () => {},
  system: {
    ask: () => Promise.reject(new Error('this test has no actors')),
    index: () => Promise.reject(new Error('this test has no index')),
    transcript: () => {
      throw new Error('this test has no transcript');
    },
  },
  installed: [],
  models: createModelCatalog({ providers: {} }, { clock: systemClock }),
  talk: NO_TALK,
  env: {},
  secrets: NO_SECRETS,
  ...over,
});
