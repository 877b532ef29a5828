/**
 * callTools: the tools that one answer of the model asked for; those declared parallel run
 * together, the others in order. A tool's failure is a result that the model reads, never a failed
 * run (AL11).
 */
import { address } from '../../../protocols/address.ts';
import { errorData } from '../../../protocols/errors.ts';
import { type RunEvent, runEventsTopic } from '../../../protocols/session.ts';
import type { ToolCall } from '../../../protocols/session.ts';
import {
  type EffectContext,
  type EffectDefinition,
  inSpan,
  toolSpan,
} from '../../../runtime/index.ts';
import type { AgentServices } from '../../agent/services.ts';
import type { CallToolsInput, ToolResult } from '../types.ts';

/**
 * `repeatable`, since every tool that ships so far is; a tool of another class needs an intent of
 * its own.
 */
export const callTools: EffectDefinition<CallToolsInput, readonly ToolResult[]> = {
  class: 'repeatable',
  async run(input, context) {
    const { tools } = context.services as AgentServices;
    const run = (call: ToolCall) => runTool(input, call, context);
    if (input.calls.every(({ name }) => tools.get(name)?.parallel))
      return Promise.all(input.calls.map(run));
    const results: ToolResult[] = [];
    for (const call of input.calls) results.push(await run(call));
    return results;
  },
};

async function runTool(
  input: CallToolsInput,
  call: ToolCall,
  context: EffectContext,
): Promise<ToolResult> {
  const { runId, sessionKey, tenant } = input;
  const tell = (
    event:
      | { phase: 'start'; args: unknown }
      | { phase: 'update'; delta: string }
      | { phase: 'end'; result: string; isError: boolean },
  ) => {
    const about: RunEvent = {
      runId,
      sessionKey,
      at: context.now(),
      stream: 'tool',
      callId: call.id,
      name: call.name,
      ...event,
    };
    context.publish(runEventsTopic(tenant, sessionKey), { type: 'run', ...about });
  };
  tell({ phase: 'start', args: call.args });
  const { text, isError = false } = await outcomeOf(input, call, context, tell);
  tell({ phase: 'end', result: text, isError });
  return { callId: call.id, name: call.name, result: text, isError };
}

async function outcomeOf(
  input: CallToolsInput,
  call: ToolCall,
  context: EffectContext,
  tell: (event: { phase: 'update'; delta: string }) => void,
): Promise<{ text: string; isError?: boolean }> {
  const { tools, ask } = context.services as AgentServices;
  const { tenant, agentId, sessionKey, runId } = input;
  try {
    return await inSpan(toolSpan(call), () =>
      tools.run(call, {
        signal: context.signal,
        now: context.now(),
        idempotencyKey: `${context.id}:${call.id}`,
        tenant,
        agentId,
        sessionKey,
        runId,
        confinement: { sandboxed: false, workspaceAccess: 'rw' },
        workspace: () => context.workspace(address(tenant, 'agent', agentId)),
        update: (delta) => tell({ phase: 'update', delta }),
        system: { ask, index: () => context.index() },
        env: {},
      }),
    );
  } catch (error) {
    if (context.signal.aborted) throw error;
    return { text: errorData(error).message, isError: true };
  }
}
