/** The tools that every agent has unless its policy takes them away. */
import { calculateTool } from './calculate.ts';
import { clockTool } from './clock.ts';
import type { Tool } from './tool.ts';

export const builtInTools: readonly Tool[] = [clockTool, calculateTool];
