/** The tools that every agent has unless its policy takes them away. */
import { calculateTool } from './basic/calculate.ts';
import { clockTool } from './basic/clock.ts';
import type { Tool } from './tool.ts';

export const builtInTools: readonly Tool[] = [clockTool, calculateTool];
