/** Reading tools: how agents see each other's sessions. What may be seen: policy/talk.ts. */
import { createSessionStatusTool, type SessionFacts } from './session-status.ts';
import { sessionsHistoryTool } from './sessions-history.ts';
import { sessionsListTool } from './sessions-list.ts';
import type { Tool } from '../tool.ts';

export const createReadingTools = (facts: SessionFacts): readonly Tool[] => [
  sessionsListTool,
  sessionsHistoryTool,
  createSessionStatusTool(facts),
];
