/**
 * Refused starts: a subagent or a conversation that could not start, because the runtime did not
 * apply its first message (a type without a worker, a dead letter). Pure.
 *
 * Invariant: the grant returns, and the waiting call is answered, as if the other side had refused
 * it.
 */
import { conversationAddress } from '../../../protocols/conversation.ts';
import { subagentAddress, type SubagentEnded, subagentRunId } from '../../../protocols/subagent.ts';
import { onFirstEnd } from './children.ts';
import { type ActionResult, type ArgsOf, metaOf, nowOf, on } from '../action-result.ts';
import { NO_USAGE } from '../../../protocols/models/model-usage.ts';
import { refusedBegin } from '../conversations/conversation-waits.ts';

type Refused = ArgsOf<'refused'>;

/** Refusals of other messages are ignored: their sender repeats them, or they came too late. */
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
