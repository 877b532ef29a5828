/** `troupe replay` as a process, against a whole troupe with real sessions. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { ActorHistory } from '../../protocols/actor-view.ts';
import { install } from '../agent-runs/installation.ts';
import { TOKEN } from '../channels/gateway/client.ts';
import { runProgram } from './program.ts';

const MAIN = 'default/session/agent:main:main';

/** A module whose session never passes a guard. */
const changed = (root: string) => `
import { shippedActors } from '${root}/actors/index.ts';
export const actors = shippedActors().map((actor) => {
  const names = actor.type === 'session' ? Object.keys(actor.machine.implementations.guards) : [];
  const guards = Object.fromEntries(names.map((name) => [name, () => false]));
  return { ...actor, machine: actor.machine.provide({ guards }) };
});
`;

it('troupe replay finds real sessions equal, and the first turn that a changed machine decides otherwise', async () => {
  const troupe = await install({ config: {} });
  const { host } = new URL(troupe.url);
  const at = ['--url', `ws://${host}`, '--token', TOKEN];
  const task = { task: 'look under the sofa', label: 'finder', wait: true };
  await troupe.run('agent:main:main', 'echo hello');
  await troupe.run('agent:main:main', `call sessions_spawn ${JSON.stringify(task)}`);
  await troupe.run('agent:main:main', 'echo again');

  const same = await runProgram(['replay', MAIN, '--json', ...at]);
  expect(same).toMatchObject({ code: 0, stderr: '' });
  const result = JSON.parse(same.stdout) as { kind: string; turns: number };
  expect(result.kind).toBe('equal');
  expect(result.turns).toBeGreaterThan(8);
  const listed = await runProgram(['actors', 'history', MAIN, '--json', ...at]);
  expect((JSON.parse(listed.stdout) as ActorHistory).turns.length).toBeGreaterThan(8);

  const folder = mkdtempSync(join(import.meta.dirname, '.replay-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'changed.ts');
  writeFileSync(file, changed(join(import.meta.dirname, '../..')));
  const other = await runProgram(['replay', MAIN, '--against', file, '--json', ...at]);
  expect(other).toMatchObject({ code: 1, stderr: '' });
  expect(JSON.parse(other.stdout)).toMatchObject({ kind: 'differs' });

  const none = await runProgram(['replay', 'default/session/agent:main:none', '--json', ...at]);
  expect(none.code).toBe(2);
  expect(JSON.parse(none.stdout)).toMatchObject({ error: { code: 'NOT_FOUND' } });
}, 90_000);
