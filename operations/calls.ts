/** Remote calls: what agents called outside, on MCP servers and A2A agents. */
import { Type } from '@sinclair/typebox';
import { defined } from '../protocols/defined.ts';
import {
  type ListedTool,
  MCP_SERVERS_INDEX,
  MCP_TOOLS_INDEX,
  type McpServerRow,
  type McpToolsRow,
} from '../protocols/mcp-server.ts';
import {
  REMOTE_CALL_KINDS,
  type RemoteCallKind,
  type RemoteCallRow,
  REMOTE_CALLS_INDEX,
} from '../protocols/remote-call.ts';
import type { ListedServer, RemoteServer } from '../protocols/remote-server.ts';
import { defineOperation, ObjectOf, type Resource } from './operation.ts';
import { ago, oneLine, table } from './text.ts';

const LISTED_MAX = 1_000;
const SCANNED = ['id', 'kind', 'server', 'caller', 'startedAt'] as const;
type ScannedRow = Pick<RemoteCallRow, (typeof SCANNED)[number]>;

const list = defineOperation({
  name: 'calls.list',
  scope: 'tenant',
  summary: 'List what agents called on MCP servers and A2A agents, today and open, newest first',
  params: Type.Object({
    kind: Type.Optional(
      Type.Unsafe<RemoteCallKind>({
        type: 'string',
        enum: [...REMOTE_CALL_KINDS],
        description: 'Only calls of MCP servers (mcp), or of A2A agents (a2a)',
      }),
    ),
    server: Type.Optional(Type.String({ description: 'Only calls of this server or agent' })),
    session: Type.Optional(Type.String({ description: 'Only calls of this session' })),
  }),
  result: Type.Object({ calls: Type.Array(ObjectOf<RemoteCallRow>()) }),
  errors: ['INVALID_ARGUMENT'],
  http: {
    method: 'GET',
    path: '/v1/calls',
    operationId: 'listCalls',
    responses: { 200: 'At most 1,000, the newest first' },
  },
  cli: {
    command: 'calls list',
    flags: { kind: '--kind <kind>', server: '--server <name>', session: '--session <key>' },
    examples: ['troupe calls --server files'],
    print: ({ calls }) => listText(calls, Date.now()),
  },
  async run({ system: { index }, tenant }, { kind, server, session }) {
    const found: ScannedRow[] = [];
    await index.scan<RemoteCallRow, keyof ScannedRow>(
      REMOTE_CALLS_INDEX,
      tenant,
      { fields: SCANNED },
      (row) => {
        const isWanted =
          (kind === undefined || row.kind === kind) &&
          (server === undefined || row.server === server) &&
          (session === undefined || row.caller.sessionKey === session);
        if (isWanted) found.push(row);
      },
    );
    const newest = found.toSorted((a, b) => b.startedAt - a.startedAt).slice(0, LISTED_MAX);
    const rows = newest.map(({ id }) => index.get<RemoteCallRow>(REMOTE_CALLS_INDEX, tenant, id));
    return { calls: rows.filter((row) => row !== undefined) };
  },
});

const servers = defineOperation({
  name: 'calls.servers',
  scope: 'tenant',
  summary: 'List the MCP servers with their tools, and the A2A agents, that agents may call',
  params: Type.Object({}),
  result: Type.Object({ servers: Type.Array(ObjectOf<ListedServer>()) }),
  errors: [],
  http: {
    method: 'GET',
    path: '/v1/calls/servers',
    operationId: 'listCalledServers',
    responses: { 200: 'Those of the configuration, by kind and name' },
  },
  cli: {
    command: 'calls servers',
    examples: ['troupe calls servers'],
    print: ({ servers: listed }) => serversText(listed, Date.now()),
  },
  run: ({ system: { index }, tenant, remoteServers, maskSecrets }) => ({
    servers: remoteServers(tenant).map((server) => {
      const place = maskSecrets(server.place);
      if (server.kind === 'a2a' || !server.enabled)
        return { ...server, place, tools: [], leftOut: [], listedAt: null };
      const { state, revision, listedAt, leftOut, error } =
        index.get<McpServerRow>(MCP_SERVERS_INDEX, tenant, server.name) ?? NOT_LISTED;
      const { tools = [] } = index.get<McpToolsRow>(MCP_TOOLS_INDEX, tenant, server.name) ?? {};
      return {
        ...server,
        place,
        ...defined({ state, revision, error }),
        listedAt,
        leftOut,
        tools: tools.map((tool) => toolOf(tool, server.approval)),
      };
    }),
  }),
});

/** Of a server whose list was not requested yet. */
const NOT_LISTED: Partial<McpServerRow> & Pick<McpServerRow, 'listedAt' | 'leftOut'> = {
  listedAt: null,
  leftOut: [],
};

const toolOf = (
  { name, serverName, readOnly }: ListedTool,
  approval: RemoteServer['approval'],
): ListedServer['tools'][number] => ({
  name,
  serverName,
  readOnly,
  approval: approval === 'changes' ? (readOnly ? 'never' : 'ask') : approval,
});

export const calls: Resource = { name: 'calls', operations: [list, servers] };

function serversText(listed: readonly ListedServer[], now: number): string {
  if (listed.length === 0) return 'no MCP servers and no A2A agents are configured\n';
  const cells = listed.map((server) => [
    server.kind,
    server.name,
    server.place,
    server.enabled ? (server.state ?? '') : 'off',
    server.kind === 'mcp' ? String(server.tools.length) : '',
    server.approval,
    server.listedAt === null ? '' : `${ago(now - server.listedAt)} ago`,
    oneLine(server.error?.message ?? ''),
  ]);
  return table(['kind', 'name', 'place', 'state', 'tools', 'approval', 'read', 'error'], cells);
}

function listText(rows: readonly RemoteCallRow[], now: number): string {
  if (rows.length === 0) return 'no agent has called a program outside today\n';
  const head = ['begun', 'kind', 'server', 'called', 'state', 'took', 'session', 'run', 'error'];
  return table(
    head,
    rows.map((row) => cellsOf(row, now)),
  );
}

const cellsOf = (row: RemoteCallRow, now: number): string[] => [
  `${ago(now - row.startedAt)} ago`,
  row.kind,
  row.server,
  row.name,
  row.status === undefined ? row.state : `${row.state}: ${oneLine(row.status)}`,
  ago((row.endedAt ?? now) - row.startedAt),
  row.caller.sessionKey,
  row.caller.runId,
  row.error === undefined ? '' : oneLine(row.error.message),
];
