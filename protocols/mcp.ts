/** Parts of messages of the Model Context Protocol that more than one part uses. */
import type { TaskView } from './task.ts';

/** The extension of MCP for tasks (SEP-2663), as clients and servers declare it. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** The extension of MCP for agent skills (SEP-2640). */
export const SKILLS_EXTENSION = 'io.modelcontextprotocol/skills';

/** The extension of MCP for tools with a view (MCP Apps, 2026-01-26), and the type of a view. */
export const APPS_EXTENSION = 'io.modelcontextprotocol/ui';
export const APP_MIME_TYPE = 'text/html;profile=mcp-app';

/** In `_meta` of a tool call: the same key, the same call. 1 to 256 characters. */
export const IDEMPOTENCY_KEY = 'troupe/idempotency-key';

/**
 * In `_meta` of a tool call with a key, `true`: cancels the call with that key. Of clients that
 * cannot cancel by closing a stream, because they may open it again.
 */
export const CANCEL_CALL = 'troupe/cancel';

/**
 * What the view of tasks gets as `structuredContent` of its tool; `Chart` is a `PublishedChart`.
 */
export type TaskChart<Chart> = {
  readonly task: Pick<TaskView, 'task_id' | 'action' | 'state' | 'events'> & {
    readonly isFinal: boolean;
    /** the question that it waits for */
    readonly waiting?: string;
    readonly error?: string;
  };
  /** absent: its actor has been removed */
  readonly actor?: { readonly machine: string; readonly state: unknown };
  /** absent: the caller has it, or there is none */
  readonly chart?: Chart;
};
