/**
 * Refusals: a subagent or a conversation that could not be begun, since the runtime did not apply
 * the first message to it (a type that no worker knows, a dead letter). Pure.
 *
 * Invariant: what was granted comes back, and the call that waits is answered, as if the other side
 * had refused it itself.
 */
import { conversationAddress } from '../../../protocols/conversation.ts';
import { subagentAddress, type SubagentEnded, subagentRunId } from '../../../protocols/subagent.ts';
import { onFirstEnd } from './children.ts';
import { type ActionResult, type ArgsOf, metaOf, nowOf, on } from '../action-result.ts';
import { NO_USAGE } from '../../kit/usage.ts';
import { refusedBegin } from '../conversations/conversation-waits.ts';

type Refused = ArgsOf<'refused'>;

/** Anything else that a session tells is told again by itself, or told too late to matter. */
export const onRefusal = on('refused', (at): ActionResult => {
  const { message } = at.event;
  if (message === 'subagent.reserve') return onSpawnRefused(at);
  return message === 'conversation.begin' ? onMessageRefused(at) : {};
});

function onSpawnRefused(at: Refused): ActionResult {
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
    error: event.error,
    usage: NO_USAGE,
    spawned: 0,
    endedAt: nowOf(event),
  };
  return onFirstEnd(at, ended, child);
}

function onMessageRefused({ context, event }: Refused): ActionResult {
  const { from } = metaOf(event);
  const { waits = [], tenant } = context;
  const wait = waits.find(({ id }) => conversationAddress(tenant, id) === from);
  return wait ? refusedBegin(context, wait, event.error) : {};
}
