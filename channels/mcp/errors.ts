/** Errors of the system as MCP has them. */
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { ErrorData } from '../../protocols/errors.ts';
import { wireError } from '../../protocols/task.ts';

/**
 * A failed tool call: a result that a model can read, not an error of the protocol. It has our
 * code, and `retry_after_sec` where a repeat may succeed.
 */
export const failedCall = (error: ErrorData, more: object = {}): CallToolResult => {
  const content = { ...more, error: wireError(error) };
  return { isError: true, structuredContent: content, content: [textOf(content)] };
};

/** A result as structured content, and as text for clients that do not read it. */
export const textOf = (value: unknown) => ({
  type: 'text' as const,
  text: typeof value === 'string' ? value : (JSON.stringify(value) ?? 'null'),
});
