/** The tools of every agent whose policy does not remove them. */
import { calculateTool } from './calculate.ts';
import { clockTool } from './clock.ts';
import type { Tool } from '../tool.ts';

export const basicTools: readonly Tool[] = [clockTool, calculateTool];
