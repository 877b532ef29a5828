/** The events that an MCP server can receive, and the invariants that hold on every path. */
import { mcpServerMachine } from '../../../actors/mcp-server/machine.ts';
import type { ServerContext } from '../../../actors/mcp-server/types.ts';
import type { ErrorData } from '../../../protocols/errors.ts';
import {
  MCP_SERVERS_INDEX,
  mcpServerAddress,
  type McpServerRow,
} from '../../../protocols/mcp-server.ts';
import type { Project } from '../../../protocols/statechart.ts';
import { demand, type Exploration, type Happened, requestsOf } from '../../charts/coverage.ts';

const tool = (name: string) => ({
  name: `mcp__test__${name}`,
  serverName: name,
  description: name,
  inputSchema: { type: 'object' },
  readOnly: false,
  idempotent: false,
});
const list = (...names: string[]) => ({
  tools: names.map(tool),
  leftOut: [],
  lifetimeMs: 600_000,
});
const away: ErrorData = { code: 'UNAVAILABLE', message: 'away' };
const gone: ErrorData = { code: 'NOT_FOUND', message: 'gone' };

/** What the rows say, and whether an announced change was not read yet. */
class Seen {
  row: McpServerRow | null = null;
  owes = false;

  copy(): Seen {
    return Object.assign(new Seen(), this);
  }

  take({ name, step }: Happened): void {
    const context = step.live.snapshot.context as ServerContext;
    const isListing = Object.keys(step.live.jobs).includes('list');
    if (name === 'refresh') this.owes = !isListing || context.again;
    else if (isListing) this.owes = false;
    const state = step.live.snapshot.value;
    if (state === 'listed') demand(this.owes, 'an announced change is read').toBe(false);
    for (const { index, value } of requestsOf<Project>(step.requests, 'project')) {
      if (index !== MCP_SERVERS_INDEX) continue;
      const row = value as McpServerRow | null;
      if (row && this.row) {
        demand(row.revision, 'never an older list').toBeGreaterThanOrEqual(this.row.revision);
        if (row.state === 'failed')
          demand(row.tools, 'a failure keeps the list').toBe(this.row.tools);
      }
      this.row = row;
    }
    if (state === 'forgotten') demand(this.row).toBeNull();
  }
}

export const exploration: Exploration = {
  machine: mcpServerMachine,
  self: mcpServerAddress('default', 'test'),
  moves: () => [
    { name: 'refresh', event: { type: 'mcp-server.refresh' } },
    { name: 'one tool', job: 'list', output: list('a') },
    { name: 'two tools', job: 'list', output: list('a', 'b') },
    { name: 'away', job: 'list', error: away },
    { name: 'gone', job: 'list', error: gone },
  ],
  key: ({ snapshot, jobs }) => {
    const { list: stored, failures, again } = snapshot.context as ServerContext;
    const failed = Math.min(failures, 2);
    return [snapshot.value, Object.keys(jobs), stored?.tools.length, failed, again];
  },
  ledger: () => new Seen(),
};
