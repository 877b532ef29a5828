/** Tools by which agents read each other's sessions. Permissions: policy/talk.ts. */
import { createSessionStatusTool, type SessionFacts } from './session-status.ts';
import { sessionsHistoryTool } from './sessions-history.ts';
import { sessionsListTool } from './sessions-list.ts';
import type { Tool } from '../tool.ts';

export const createReadingTools = (facts: SessionFacts): readonly Tool[] => [
  sessionsListTool,
  sessionsHistoryTool,
  createSessionStatusTool(facts),
];
