/** Whose agents a cell has: the first configuration's, until a person gives it others. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { rootAddress } from '../../actors/index.ts';
import { hire } from '../../compose/crew.ts';
import { applySettings, seed } from '../../compose/settings.ts';
import type { AgentRow, AgentSettings } from '../../protocols/agent.ts';
import { createSystem, openEmbedded } from '../../runtime/index.ts';
import { load } from '../runtime/config/folder.ts';

const configOf = (...ids: string[]) =>
  load(`{ agents: { agents: [${ids.map((id) => `{ id: '${id}' }`).join()}] } }`).config;

/** A crew whose warnings a test can read. */
function crewOf(...ids: string[]) {
  const warnings: string[] = [];
  const crew = hire(configOf(...ids));
  crew.log.level = 'silent';
  const log = Object.assign(Object.create(crew.log) as typeof crew.log, {
    warn: (text: string) => void warnings.push(text),
  });
  return { ...crew, log, warnings };
}

async function openCell() {
  const path = mkdtempSync(join(tmpdir(), 'troupe-settings-'));
  const ports = await openEmbedded({ path });
  const system = await createSystem({ ...ports, ...crewOf('main').options });
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

const going = new AbortController().signal;

it('takes the agents of the first gateway, and a second one with others says so once', async () => {
  const { system, agents } = await openCell();
  const first = crewOf('main', 'helper');
  await seed(system, first, going);
  expect(agents()).toEqual(['main', 'helper']);
  const reordered = crewOf('helper', 'main');
  await seed(system, reordered, going);
  const other = crewOf('main', 'writer');
  await seed(system, other, going);
  expect(agents()).toEqual(['main', 'helper']);
  expect([first.warnings, reordered.warnings]).toEqual([[], []]);
  expect(other.warnings).toEqual([expect.stringContaining('troupe config apply')]);
});

it('takes other agents when they are applied, and retires those that are gone', async () => {
  const { system, agents, cluster } = await openCell();
  await seed(system, crewOf('main', 'helper'), going);
  const { settings } = await applySettings(configOf('main', 'writer'), cluster);
  expect(settings.map(({ agentId }) => agentId)).toEqual(['main', 'writer']);
  expect(agents()).toEqual(['main', 'writer']);
  await expect
    .poll(() => system.index.get<AgentRow>('agents', 'default', 'helper')?.status)
    .toBe('retired');
});

it('gives up when it is told to, while no root answers', async () => {
  const crew = crewOf('main');
  const gone = new AbortController();
  const ask = () => {
    gone.abort();
    return Promise.resolve({ kind: 'timeout' as const });
  };
  const { system } = await openCell();
  await seed(Object.assign(Object.create(system) as typeof system, { ask }), crew, gone.signal);
  expect(crew.warnings).toEqual([expect.stringContaining('no answer within')]);
});
