/** MCP servers of a test: the configuration of its servers, and calls as the actor makes them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { McpServers, type McpServersOptions } from '../../../agent/mcp/servers.ts';
import { createSandbox } from '../../../agent/sandbox/choose.ts';
import { createHostBoundary } from '../../../agent/sandbox/host.ts';
import { growingMask } from '../../../agent/tools/growing-mask.ts';
import type { FreshToolList } from '../../../protocols/mcp-server.ts';
import type { RemoteCall, RemoteStep } from '../../../protocols/remote-call.ts';
import { loadConfig } from '../../../runtime/config/index.ts';
import { systemClock } from '../../../runtime/index.ts';
import { scratchFolder, write } from '../../runtime/config/folder.ts';

export const SECRET = 'a-secret-of-the-server-4711';
export const STDIO_SERVER = join(import.meta.dirname, 'stdio-server.program.mjs');

/** The entry of `mcp.servers` for the stdio server; `env` in addition to what it needs. */
export const stdioEntry = (
  folder: string,
  { env = {}, ...more }: Record<string, unknown> = {},
) => ({
  command: process.execPath,
  args: [STDIO_SERVER],
  sandbox: false,
  env: { CALLS: join(folder, 'calls'), SECRET, STARTS: join(folder, 'starts'), ...(env as object) },
  ...more,
});

/** Lines of a file that the stdio server writes; [] when there is none. */
export const linesOf = (folder: string, name: 'calls' | 'starts'): readonly string[] => {
  try {
    return readFileSync(join(folder, name), 'utf8').trim().split('\n');
  } catch {
    return [];
  }
};

export type TestServers = {
  readonly servers: McpServers;
  /** Reads and stores the list of the server `test`, as its actor does. */
  readonly refresh: () => Promise<void>;
  /** the stored list */
  readonly stored: () => FreshToolList | undefined;
  readonly reports: readonly { readonly text: string; readonly kind: string }[];
  /** calls a tool of the server `test` */
  readonly call: (name: string, more?: CallOptions) => Promise<RemoteStep>;
};
type CallOptions = Partial<RemoteCall> & {
  readonly tenant?: string;
  readonly signal?: AbortSignal;
};

export function openServers(
  entries: Readonly<Record<string, unknown>>,
  options: Partial<McpServersOptions> = {},
): TestServers {
  const data = scratchFolder();
  const file = write(data, 'troupe.json5', JSON.stringify({ mcp: { servers: entries } }));
  const { config } = loadConfig({ env: {}, file, flags: { data } });
  const reports: TestServers['reports'][number][] = [];
  const servers = new McpServers({
    servers: config.mcp.servers,
    tenant: 'default',
    boundaries: { sandbox: createSandbox(), host: createHostBoundary() },
    clock: systemClock,
    version: '1.0.0',
    secrets: growingMask([SECRET]),
    report: ({ text, kind }) => void reports.push({ text, kind }),
    ...options,
  });
  onTestFinished(() => servers.close());
  let stored: FreshToolList | undefined;
  let revision = 0;
  const refresh = async () => {
    stored = await servers.list('test');
    revision++;
    await servers.ready();
  };
  const row = { name: 'test', state: 'listed', listedAt: 0, tools: 0, leftOut: [] } as const;
  servers.open(
    {
      row: () => (stored ? { ...row, revision } : undefined),
      tools: () => stored,
      readable: async () => {},
      refresh: () => void refresh(),
    },
    false,
  );
  return {
    servers,
    refresh,
    stored: () => stored,
    reports,
    call: (name, { tenant = 'default', signal = new AbortController().signal, ...more } = {}) =>
      servers.caller.start(
        {
          kind: 'mcp',
          server: 'test',
          name,
          input: {},
          class: 'once',
          timeoutMs: 30_000,
          caller: { agentId: 'main', sessionKey: 'agent:main:main', runId: 'r', callId: 'c' },
          ...more,
        },
        { tenant, idempotencyKey: `key of ${name}`, signal },
      ),
  };
}

/** The text of a result. */
export const textOf = (step: RemoteStep): string =>
  step.kind === 'done' ? step.result.text : `running: ${JSON.stringify(step.handle)}`;
