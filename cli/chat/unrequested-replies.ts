/**
 * Shows replies that no user requested: the reply to results of subagents, and what a session
 * announces after a conversation with another agent. Messages between agents are not shown, and
 * replies to other users are shown only in their own clients.
 *
 * Only live events of one connection are shown. What is sent while there is none is in the
 * transcript.
 */
import type { ChatEvent } from '../../protocols/gateway/index.ts';
import type { MessageOrigin } from '../../protocols/session.ts';
import type { GatewayClient } from '../../client/gateway-client.ts';

/** A text that no user requested, and why the session sent it. */
export type UnrequestedReply = { readonly why: string; readonly text: string };

/** Calls `onReply` for each such text until the client is closed. */
export function onUnrequestedReply(
  client: GatewayClient,
  isOurs: (sessionKey: string | null) => boolean,
  onReply: (reply: UnrequestedReply) => void,
): void {
  const why = new Map<string, string>();
  client.on('agent', ({ runId, stream, sessionKey = null, data }) => {
    if (stream === 'message') {
      const reason = why.get(runId);
      const text = typeof data.text === 'string' ? data.text : '';
      if (reason !== undefined && isOurs(sessionKey)) onReply({ why: reason, text });
    }
    if (stream !== 'lifecycle' || data['phase'] !== 'start') return;
    const origin = data['origin'] as MessageOrigin | undefined;
    const reason = origin && reasonOf(origin);
    if (reason) why.set(runId, reason);
  });
  client.on('chat', (event) => {
    if (event.state === 'delta' || event.state === 'status') return;
    const reason = why.get(event.runId);
    why.delete(event.runId);
    const text = textOf(event);
    if (reason !== undefined && text !== '' && isOurs(event.sessionKey))
      onReply({ why: reason, text });
  });
}

function reasonOf({ kind, sessionKey, ids }: MessageOrigin): string | undefined {
  if (kind === 'announce') return `after a conversation with ${sessionKey}`;
  if (kind !== 'subagents') return undefined;
  return ids.length === 1 ? 'a subagent has ended' : `${ids.length} subagents have ended`;
}

/** A failed run without text shows its error. */
function textOf(event: Exclude<ChatEvent, { state: 'delta' | 'status' }>): string {
  const { content = [] } = event.message ?? {};
  const parts = typeof content === 'string' ? [{ text: content }] : content;
  const text = parts.map((part) => part.text ?? '').join('');
  return text === '' && event.state === 'error' ? (event.errorMessage ?? '') : text;
}
