/** `list`: reads the list of tools of an MCP server. */
import { servicesOf } from '../../agent/services.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { FreshToolList } from '../../protocols/mcp-server.ts';
import type { EffectDefinition } from '../../runtime/index.ts';

const LIST_MS = 180_000;

export const list: EffectDefinition<string, FreshToolList> = {
  class: 'repeatable',
  takesSlot: false,
  timeoutMs: LIST_MS,
  run(name, context) {
    const { mcpLists } = servicesOf(context);
    if (mcpLists) return mcpLists.list(name);
    throw new TroupeError('NOT_FOUND', `this worker has no MCP servers: ${name}`);
  },
};
