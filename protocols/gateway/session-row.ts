/** One session in lists and events. A separate file, because several method files use it. */
import { type Static, Type } from '@sinclair/typebox';
import { NonEmpty, Nullable, oneOf, Optional, Text } from './shapes.ts';

/** One session. Times are epoch milliseconds. */
export const SessionsListRow = Type.Object({
  key: Text,
  kind: oneOf(['direct', 'group', 'global', 'unknown']),
  sessionId: Optional(Text),
  agentId: Optional(NonEmpty),
  label: Optional(Text),
  displayName: Optional(Text),
  derivedTitle: Optional(Text),
  lastMessagePreview: Optional(Text),
  channel: Optional(Text),
  classification: Optional(oneOf(['main', 'subagent', 'group', 'direct'])),
  archived: Optional(Type.Boolean()),
  pinned: Optional(Type.Boolean()),
  /** the group in which a user placed it */
  category: Optional(Text),
  createdAt: Optional(Type.Number()),
  lastInteractionAt: Optional(Type.Number()),
  thinkingLevel: Optional(Text),
  verboseLevel: Optional(Text),
  reasoningLevel: Optional(Text),
  effectiveQueueMode: Optional(Text),
  chatType: Optional(oneOf(['direct', 'group', 'channel'])),
  isMain: Optional(Type.Boolean()),
  updatedAt: Optional(Nullable(Type.Number())),
  lastActivityAt: Optional(Type.Number()),
  status: Optional(oneOf(['queued', 'running', 'done', 'failed', 'killed', 'timeout'])),
  hasActiveRun: Optional(Type.Boolean()),
  activeRunIds: Optional(Type.Array(Text)),
  lastRunId: Optional(NonEmpty),
  spawnedBy: Optional(Text),
  parentSessionKey: Optional(Text),
  /** the routing rule that chose the session for the last message of its chat */
  routedBy: Optional(Text),
  /** the session and the turn that this one was forked at */
  forkedFrom: Optional(Type.Object({ key: Text, turn: Type.Integer() })),
  spawnDepth: Optional(Type.Number()),
  model: Optional(Text),
  modelProvider: Optional(Text),
  inputTokens: Optional(Type.Number()),
  outputTokens: Optional(Type.Number()),
  totalTokens: Optional(Type.Number()),
  totalTokensFresh: Optional(Type.Boolean()),
  contextTokens: Optional(Type.Number()),
});
export type SessionsListRow = Static<typeof SessionsListRow>;
