/**
 * Refusals: a subagent or a conversation that could not be begun, since the runtime did not apply
 * the first message to it (a type that no worker knows, a dead letter). Pure.
 *
 * Invariant: what was granted comes back, and the call that waits is answered, as if the other side
 * had refused it itself.
 */
import { conversationAddress } from '../../../protocols/conversation.ts';
import type { ErrorData } from '../../../protocols/errors.ts';
import { subagentAddress, type SubagentEnded, subagentRunId } from '../../../protocols/subagent.ts';
import { takeFirst } from './children.ts';
import { type ActionArgs, type ActionResult, metaOf, NO_USAGE, nowOf } from '../action-result.ts';
import { refusedBegin } from '../conversations/conversation-waits.ts';

type Refused = { readonly message: string; readonly error: ErrorData };

/** Anything else that a session tells is told again by itself, or told too late to matter. */
export function takeRefusal(at: ActionArgs): ActionResult {
  const { message } = at.event as Refused;
  if (message === 'subagent.reserve') return takeSpawn(at);
  return message === 'conversation.begin' ? takeMessage(at) : {};
}

function takeSpawn(at: ActionArgs): ActionResult {
  const { context, event } = at;
  const { from } = metaOf(event);
  const { children = [], tenant } = context;
  const child = children.find(({ id }) => subagentAddress(tenant, id) === from);
  if (!child) return {};
  const ended: SubagentEnded = {
    type: 'subagent.ended',
    id: child.id,
    sessionKey: child.sessionKey,
    runId: subagentRunId(child.id),
    outcome: 'refused',
    findings: '',
    task: '',
    error: (event as Refused).error,
    usage: NO_USAGE,
    spawned: 0,
    endedAt: nowOf(event),
  };
  return takeFirst(at, ended, child);
}

function takeMessage({ context, event }: ActionArgs): ActionResult {
  const { from } = metaOf(event);
  const { waits = [], tenant } = context;
  const wait = waits.find(({ id }) => conversationAddress(tenant, id) === from);
  return wait ? refusedBegin(context, wait, (event as Refused).error) : {};
}
