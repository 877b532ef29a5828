/** A workspace and the tools of this machine, for tests. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { createSandbox } from '../../../agent/sandbox/choose.ts';
import { createHostBoundary } from '../../../agent/sandbox/host.ts';
import type { ExecOptions } from '../../../agent/tools/exec/exec.ts';
import { createHostTools } from '../../../agent/tools/host-tools.ts';
import { createToolRegistry } from '../../../agent/tools/registry.ts';
import type { ToolContext, ToolResult } from '../../../agent/tools/tool.ts';
import { toolContext } from './tool-context.ts';

export type Bench = {
  /** a folder beside the workspace that no tool may reach */
  outside: string;
  workspace: string;
  /** Calls a tool as a session would, through the registry. */
  call(name: string, args: unknown, over?: Partial<ToolContext>): Promise<ToolResult>;
  /** restarts with these options */
  use(options: Partial<ExecOptions>): void;
};

export const SANDBOXED: Pick<ToolContext, 'confinement'> = {
  confinement: { sandboxed: true, workspaceAccess: 'rw' },
};

/** A new fixture for each test of the file. */
export function hostToolsBench(): Bench {
  const toolsWith = (options: Partial<ExecOptions> = {}) =>
    createToolRegistry(
      createHostTools({
        boundaries: { sandbox: createSandbox(), host: createHostBoundary() },
        ...options,
      }),
    );
  let tools = toolsWith();
  const bench: Bench = {
    outside: '',
    workspace: '',
    call: (name, args, over = {}) =>
      tools.run(
        { name, args },
        toolContext({ workspace: () => Promise.resolve({ path: bench.workspace }), ...over }),
      ),
    use: (options) => {
      tools = toolsWith(options);
    },
  };
  beforeEach(() => {
    bench.outside = mkdtempSync(join(tmpdir(), 'troupe-tools-'));
    bench.workspace = join(bench.outside, 'workspace');
    mkdirSync(bench.workspace);
    tools = toolsWith();
  });
  afterEach(() => rmSync(bench.outside, { recursive: true, force: true }));
  return bench;
}
