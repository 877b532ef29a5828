/**
 * Calls to programs outside, for the tools of MCP servers and A2A agents. A call is an actor of its
 * own, so a call that is repeated after a crash waits for the first one and calls nothing.
 */
import { TroupeError } from '../../protocols/errors.ts';
import {
  type RemoteCall,
  remoteCallAddress,
  type RemoteCallCancel,
  type RemoteCallStart,
  type RemoteResult,
} from '../../protocols/remote-call.ts';
import { answerOf, idOfCall, said } from './sessions/repeatable-ask.ts';
import type { ToolContext, ToolResult } from './tool.ts';

/**
 * The result of the call. A tool that uses it is of class `keyed`, whatever the class of the call.
 *
 * @throws TroupeError CANCELLED when the tool's call is aborted; the program is then asked to end
 *   its task
 */
export async function callRemote(
  call: Omit<RemoteCall, 'caller'>,
  context: ToolContext,
): Promise<ToolResult> {
  const { agentId, sessionKey, runId, callId } = context;
  const to = remoteCallAddress(context.tenant, idOfCall(context));
  const caller = { agentId, sessionKey, runId, callId };
  const event: RemoteCallStart = {
    type: 'remote-call.start',
    call: { ...call, caller },
  };
  try {
    const answer = await answerOf(context, to, event);
    if (answer.kind === 'answered') return answer.result as RemoteResult;
    const { code, message } = answer.error;
    return said({ error: message, code }, true);
  } catch (error) {
    if (isUnwanted(context.signal)) {
      const cancel: RemoteCallCancel = { type: 'remote-call.cancel' };
      await context.system.ask(to, cancel, { timeoutMs: CANCEL_MS });
    }
    throw error;
  }
}

const CANCEL_MS = 5_000;

/** A worker that stops aborts its effects, too; the next one continues them. */
const isUnwanted = ({ aborted, reason }: AbortSignal): boolean =>
  aborted && !(reason instanceof TroupeError && reason.details?.['reason'] === 'WORKER_STOPS');
