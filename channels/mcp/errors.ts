/** Errors of the system as MCP has them. */
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { ErrorData } from '../../protocols/errors.ts';
import { wireError } from '../../protocols/task.ts';

/**
 * A failed tool call: a result that a model can read, not an error of the protocol. Its text is
 * JSON with our code, and `retry_after_sec` where a repeat may succeed. It is not structured
 * content: clients check that against the output schema of the tool, and show the mismatch in the
 * place of the error.
 */
export const failedCall = (error: ErrorData, more: object = {}): CallToolResult => ({
  isError: true,
  content: [textOf({ ...more, error: wireError(error) })],
});

/** A result as structured content, and as text for clients that do not read it. */
export const textOf = (value: unknown) => ({
  type: 'text' as const,
  text: typeof value === 'string' ? value : (JSON.stringify(value) ?? 'null'),
});
