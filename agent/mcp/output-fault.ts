/** Checks a structured result against the schema that its tool declares. */
import type { ListedTool } from '../../protocols/mcp-server.ts';
import { schemaComplaint } from '../../runtime/index.ts';
import type { CallResult } from './call-result.ts';

type Output = { readonly structuredContent?: unknown; readonly isError?: unknown };

/**
 * What a model reads instead of a result that its tool does not promise; undefined: it may pass.
 */
export async function outputFault(
  { structuredContent, isError }: Output,
  tool: ListedTool | undefined,
): Promise<CallResult | undefined> {
  if (tool?.outputSchema === undefined || isError === true) return undefined;
  const why =
    structuredContent === undefined
      ? 'it has no structured content'
      : await schemaComplaint({ ...tool.outputSchema }, structuredContent);
  if (why === undefined) return undefined;
  return {
    text: `${tool.serverName} was called, but its result is not what its outputSchema declares: ${why}`,
    isError: true,
  };
}
