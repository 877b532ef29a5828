/** Names in the messages of the Model Context Protocol that more than one part uses. */

/** The extension of MCP for tasks (SEP-2663), as clients and servers declare it. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** In `_meta` of a tool call: the same key, the same call. 1 to 256 characters. */
export const IDEMPOTENCY_KEY = 'troupe/idempotency-key';

/**
 * In `_meta` of a tool call with a key, `true`: cancels the call with that key. Of clients that
 * cannot cancel by closing a stream, because they may open it again.
 */
export const CANCEL_CALL = 'troupe/cancel';
