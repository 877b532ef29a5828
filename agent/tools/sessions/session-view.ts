/** Session view: the form in which agents see a session's row. Pure. */
import { parseSessionKey, type SessionKeyParts } from '../../../protocols/session-key.ts';
import type { SessionRow } from '../../../protocols/session.ts';

/** A timestamp of a row as text. */
export const isoOf = (at: number): string => new Date(at).toISOString();

export const totalTokens = ({ usage }: Pick<SessionRow, 'usage'>): number =>
  usage.inputTokens + usage.outputTokens;

/** The channel of the last user message, otherwise the one in the session's key. */
export function channelOf({ channel, sessionKey }: SessionRow): string | undefined {
  if (channel !== undefined) return channel;
  const parts = parseSessionKey(sessionKey);
  return 'channel' in parts ? parts.channel : undefined;
}

/** Display name: the label, otherwise the last part of the key. */
export const displayNameOf = ({ label, sessionKey }: SessionRow): string =>
  label ?? nameOf(parseSessionKey(sessionKey));

function nameOf(parts: SessionKeyParts): string {
  switch (parts.type) {
    case 'main':
      return parts.mainKey === 'main' ? parts.agentId : `${parts.agentId} ${parts.mainKey}`;
    case 'dm':
      return `${parts.agentId} with ${parts.peerId}`;
    case 'group':
      return `${parts.agentId} in group ${parts.groupId}`;
    case 'topic':
      return `${parts.agentId} in group ${parts.groupId}, topic ${parts.threadId}`;
    case 'subagent':
      return `${parts.agentId}, subagent ${parts.id.slice(0, 8)}`;
    case 'cron':
    case 'hook':
    case 'node':
      return `${parts.agentId}, ${parts.type} ${parts.id}`;
    case 'other':
      return parts.key;
  }
}
