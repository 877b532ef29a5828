/**
 * The calls of one batch (batch.ts). They run in parallel where all of them may; a call that may
 * not is a batch of its own. docs/semantics.md, "Effects", defines what each class means after a
 * crash.
 */
import { address } from '../../../protocols/address.ts';
import type { EffectDefinition } from '../../../runtime/index.ts';
import { toolCallsOf } from '../version-1.ts';
import type { CallToolsInput, ToolResult } from '../types.ts';
import { keepingWorkspace } from './kept-workspace.ts';
import { runBatch, workspaceOf } from './run-tool.ts';

/** An upper bound only: the time limit of the run ends a batch earlier. */
export const BATCH_TIMEOUT_MS = 86_400_000;

type CallTools = EffectDefinition<CallToolsInput, readonly ToolResult[]>;

const run: CallTools['run'] = (recorded, context) => {
  const input = toolCallsOf(recorded);
  return keepingWorkspace(context, (kept) => runBatch(input, kept));
};

/**
 * The workspaces of the tools and of the agent; the agent's skills declare what commands may read.
 */
export const placement: CallTools['placement'] = (input) => ({
  workspacesOf: [address(input.tenant, 'agent', input.agentId), workspaceOf(input)],
});

/** The effect saves the workspace itself. */
const how = { timeoutMs: BATCH_TIMEOUT_MS, workspace: 'discard', run, placement } as const;

export const callTools: CallTools = { class: 'repeatable', ...how };

export const callKeyed: CallTools = { class: 'keyed', ...how };
