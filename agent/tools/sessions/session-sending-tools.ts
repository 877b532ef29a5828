/** Talk tools: how agents write to each other's sessions and hand work to subagents. */
import { sessionsSendTool } from './sessions-send.ts';
import { sessionsSpawnTool } from './sessions-spawn.ts';
import { subagentsTool } from './subagents.ts';
import type { Tool } from '../tool.ts';

export const createTalkTools = (): readonly Tool[] => [
  sessionsSendTool,
  sessionsSpawnTool,
  subagentsTool,
];
