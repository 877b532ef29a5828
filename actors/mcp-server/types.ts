/** What an MCP server keeps between turns. */
import type { ErrorData } from '../../protocols/errors.ts';
import type { McpServerRefresh, ToolList } from '../../protocols/mcp-server.ts';
import type { Delivered } from '../../protocols/statechart.ts';
import type { ActionArgs } from '../kit/handlers.ts';

export type ServerContext = {
  readonly name: string;
  readonly list: ToolList | null;
  readonly listedAt: number | null;
  readonly revision: number;
  /** attempts in succession that failed, and why the latest did */
  readonly failures: number;
  readonly problem: ErrorData | null;
  /** before the next list */
  readonly pauseMs: number;
  /** a change was announced while the list was read */
  readonly again: boolean;
};

export type ServerEvent = Delivered<McpServerRefresh>;
export type Args = ActionArgs<ServerContext, ServerEvent>;
