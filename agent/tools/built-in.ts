/** The tools of every agent whose policy does not remove them. */
import { calculateTool } from './basic/calculate.ts';
import { clockTool } from './basic/clock.ts';
import type { Tool } from './tool.ts';

export const builtInTools: readonly Tool[] = [clockTool, calculateTool];
