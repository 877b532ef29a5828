/**
 * callOnce: a call that may not run twice. If its worker dies during the call, it does not run
 * again and needs no approval: the model receives an unknown outcome and checks before it
 * continues.
 */
import type { EffectContext, EffectDefinition } from '../../../runtime/index.ts';
import { servicesOf } from '../../../agent/services.ts';
import type { PlannedCall } from '../../../agent/policy/planned-call.ts';
import type { CallToolsInput, ToolResult } from '../types.ts';
import { BATCH_TIMEOUT_MS, placement } from './call-tools.ts';
import { keepingWorkspace } from './kept-workspace.ts';
import { runBatch, toolEventPublisher } from './run-tool.ts';

export const callOnce: EffectDefinition<CallToolsInput, readonly ToolResult[]> = {
  class: 'once',
  timeoutMs: BATCH_TIMEOUT_MS,
  // the effect saves the workspace itself
  workspace: 'discard',
  run: (input, context) => {
    const { tools } = servicesOf(context);
    const onlyFiles = input.calls.every(({ name }) => tools.get(name)?.onlyFiles);
    return keepingWorkspace(context, (kept) => runBatch(input, kept), onlyFiles);
  },
  placement,
  reconcile: async (input, context) => ({
    outcome: input.calls.map((call) => unknown(input, call, context)),
  }),
};

function unknown(input: CallToolsInput, call: PlannedCall, context: EffectContext): ToolResult {
  const result =
    `Unknown: the worker that ran ${call.name} died before it reported the outcome. It may ` +
    'have had its effect completely, partly or not at all. It was not run again. Check the present ' +
    'state before you try it again.';
  toolEventPublisher(input, call, context)({ phase: 'end', result, isError: true });
  return { callId: call.id, name: call.name, result, isError: true, unknown: true };
}
