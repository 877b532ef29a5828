/** Tools by which agents send messages to each other's sessions and start subagents. */
import { sessionsSendTool } from './sessions-send.ts';
import { sessionsSpawnTool } from './sessions-spawn.ts';
import { subagentsTool } from './subagents.ts';
import type { Tool } from '../tool.ts';

export const createTalkTools = (): readonly Tool[] => [
  sessionsSendTool,
  sessionsSpawnTool,
  subagentsTool,
];
