/** Lists: the pure parts of the chart that remember, and the rows. */
import {
  type FreshToolList,
  MCP_SERVERS_INDEX,
  MCP_TOOLS_INDEX,
  type McpServerRow,
  type McpToolsRow,
} from '../../protocols/mcp-server.ts';
import type { ActorInput, Project } from '../../protocols/statechart.ts';
import { pauseMsOf } from '../kit/backoff.ts';
import { errorOf, type HostAction } from '../kit/handlers.ts';
import type { Args, ServerContext } from './types.ts';

const PAUSE_MS = { first: 1_000, max: 300_000 };

type Change = Partial<ServerContext>;
type State = Pick<Args, 'context'>;

export const initialContext = ({ key }: ActorInput): ServerContext => ({
  name: key,
  list: null,
  listedAt: null,
  revision: 0,
  failures: 0,
  problem: null,
  pauseMs: PAUSE_MS.first,
  again: false,
});

export const noteList = ({ context, event }: Args, { fresh }: { fresh: FreshToolList }): Change => {
  const { lifetimeMs: pauseMs, ...list } = fresh;
  const isSame = JSON.stringify(list) === JSON.stringify(context.list);
  return {
    ...(isSame ? {} : { list, revision: context.revision + 1 }),
    listedAt: event.meta.now,
    failures: 0,
    problem: null,
    pauseMs,
  };
};

export const noteFailure = ({ context, event }: Args): Change => {
  const [failures, error] = [context.failures + 1, errorOf(event)];
  const pauseMs = pauseMsOf(PAUSE_MS, failures, { seed: event.meta.id, error });
  return { failures, problem: error, pauseMs };
};

export const isGone = ({ event }: Args): boolean => errorOf(event).code === 'NOT_FOUND';

// ---- rows

const rowOf = ({ context }: State): McpServerRow => {
  const { name, list, listedAt, revision, problem } = context;
  return {
    name,
    state: problem === null ? 'listed' : 'failed',
    revision,
    listedAt,
    tools: list?.tools.length ?? 0,
    leftOut: list?.leftOut ?? [],
    ...(problem === null ? {} : { error: problem }),
  };
};

const project = (index: string, key: string, value: Project['value']): HostAction => ({
  type: 'project',
  params: { index, key, value },
});

export const rows = (args: State): readonly HostAction[] => {
  const { name, list } = args.context;
  const tools: McpToolsRow = { tools: list?.tools ?? [] };
  return [project(MCP_SERVERS_INDEX, name, rowOf(args)), project(MCP_TOOLS_INDEX, name, tools)];
};
export const noRows = ({ context: { name } }: State): readonly HostAction[] => [
  project(MCP_SERVERS_INDEX, name, null),
  project(MCP_TOOLS_INDEX, name, null),
];
