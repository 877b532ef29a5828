/**
 * What a session tells its people without being asked: the reply to results of its subagents,
 * and what it announces of a conversation with another agent. What agents say to each other
 * is not for people, and what other people ask is answered where they ask.
 *
 * Boundary: live events of one connection; what is told while there is none stands in the history.
 */
import type { ChatEvent } from '../../protocols/gateway/index.ts';
import type { MessageOrigin } from '../../protocols/session.ts';
import type { GatewayClient } from '../client/gateway-client.ts';

/** Why somebody who watches one session is told something. */
type Told = { readonly why: string; readonly text: string };

/** Told from now on, until the client is closed. */
export function tellOthers(
  client: GatewayClient,
  isOurs: (sessionKey: string | null) => boolean,
  tell: (told: Told) => void,
): void {
  const why = new Map<string, string>();
  client.on('agent', ({ runId, stream, sessionKey = null, data }) => {
    if (stream === 'message') {
      const words = why.get(runId);
      const text = typeof data.text === 'string' ? data.text : '';
      if (words !== undefined && isOurs(sessionKey)) tell({ why: words, text });
    }
    if (stream !== 'lifecycle' || data['phase'] !== 'start') return;
    const origin = data['origin'] as MessageOrigin | undefined;
    const words = origin && wordsOf(origin);
    if (words) why.set(runId, words);
  });
  client.on('chat', (event) => {
    if (event.state === 'delta' || event.state === 'status') return;
    const words = why.get(event.runId);
    why.delete(event.runId);
    const text = textOf(event);
    if (words !== undefined && text !== '' && isOurs(event.sessionKey)) tell({ why: words, text });
  });
}

function wordsOf({ kind, sessionKey, ids }: MessageOrigin): string | undefined {
  if (kind === 'announce') return `after a conversation with ${sessionKey}`;
  if (kind !== 'subagents') return undefined;
  return ids.length === 1 ? 'a subagent has ended' : `${ids.length} subagents have ended`;
}

/** What ended badly and said nothing tells why. */
function textOf(event: Exclude<ChatEvent, { state: 'delta' | 'status' }>): string {
  const { content = [] } = event.message ?? {};
  const parts = typeof content === 'string' ? [{ text: content }] : content;
  const text = parts.map((part) => part.text ?? '').join('');
  return text === '' && event.state === 'error' ? (event.errorMessage ?? '') : text;
}
