/** A cell keeps the agents of its first configuration until an operator applies another one. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { rootAddress } from '../../actors/index.ts';
import { createProcessServices } from '../../compose/process-services.ts';
import { applySettings, seedCluster } from '../../installation/root-settings.ts';
import type { AgentRow, AgentSettings } from '../../protocols/agent.ts';
import { createSystem, openEmbedded } from '../../runtime/index.ts';
import { load } from '../runtime/config/folder.ts';

const configOf = (...ids: string[]) =>
  load(`{ agents: { agents: [${ids.map((id) => `{ id: '${id}' }`).join()}] } }`).config;

/** A configuration, and the warnings that are logged about it. */
function configured(...ids: string[]) {
  const warnings: string[] = [];
  const log = { warn: (message: string) => void warnings.push(message), error: () => {} };
  return { config: configOf(...ids), log, warnings };
}

async function openCell() {
  const path = mkdtempSync(join(tmpdir(), 'troupe-settings-'));
  const ports = await openEmbedded({ path });
  const system = await createSystem({
    ...ports,
    ...createProcessServices(configOf('main')).options,
  });
  onTestFinished(async () => {
    await system.stop();
    rmSync(path, { recursive: true, force: true });
  });
  const agents = () => {
    const root = system.inspect(rootAddress('default'))?.context;
    return (root as { agents: AgentSettings[] }).agents.map(({ agentId }) => agentId);
  };
  return { system, agents, cluster: { ...ports, env: 'local', shards: 8 } };
}

const signal = new AbortController().signal;

it('a new cluster accepts the agents of the first gateway; others only log a warning', async () => {
  const { system, agents } = await openCell();
  const first = configured('main', 'helper');
  await seedCluster(system, { ...first, signal });
  expect(agents()).toEqual(['main', 'helper']);
  const reordered = configured('helper', 'main');
  await seedCluster(system, { ...reordered, signal });
  const other = configured('main', 'writer');
  await seedCluster(system, { ...other, signal });
  expect(agents()).toEqual(['main', 'helper']);
  expect([first.warnings, reordered.warnings]).toEqual([[], []]);
  expect(other.warnings).toEqual([expect.stringContaining('troupe config apply')]);
});

it('applySettings configures new agents and retires those that are no longer listed', async () => {
  const { system, agents, cluster } = await openCell();
  await seedCluster(system, { ...configured('main', 'helper'), signal });
  const { settings } = await applySettings(configOf('main', 'writer'), cluster, 'user:test');
  expect(settings.map(({ agentId }) => agentId)).toEqual(['main', 'writer']);
  expect(agents()).toEqual(['main', 'writer']);
  await expect
    .poll(() => system.index.get<AgentRow>('agents', 'default', 'helper')?.status)
    .toBe('retired');
});

it('seeding can be aborted while the root does not answer', async () => {
  const seed = configured('main');
  const aborting = new AbortController();
  const ask = () => {
    aborting.abort();
    return Promise.resolve({ kind: 'timeout' as const });
  };
  const { system } = await openCell();
  const unanswered = Object.assign(Object.create(system) as typeof system, { ask });
  await seedCluster(unanswered, { ...seed, signal: aborting.signal });
  // What stops reports nothing more.
  expect(seed.warnings).toEqual([]);
});
