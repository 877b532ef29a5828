/** The section `mcp`: what MCP clients can do. */
import { oneOf, section } from './fields.ts';

export const MCP_OPERATIONS = ['none', 'read', 'all'] as const;

export const mcpSection = section('the Model Context Protocol, at `/mcp` of the gateway', {
  operations: oneOf(MCP_OPERATIONS, {
    description:
      'which operations are tools for operators, in addition to the actions of agents: none, those that only read, or all',
    default: 'read',
  }),
});
