/** Rules for every shipped actor type; a new type is included automatically. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { transformSync } from 'esbuild';
import { afterAll, describe, expect, it } from 'vitest';
import { type AnyStateMachine, createMachine } from 'xstate';
import { shippedActors } from '../../actors/index.ts';
import { definitionHash } from '../../runtime/statechart/check.ts';
import { exportJson, exportMermaid, exportTypeScript } from '../../runtime/statechart/export.ts';
import { nodesOf } from '../../runtime/statechart/facts.ts';
import { lintMachine } from '../../runtime/statechart/lint.ts';
import { transitionsOf } from '../../runtime/statechart/parts.ts';

const folder = mkdtempSync(join(import.meta.dirname, '.shipped-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const statesOf = (machine: AnyStateMachine) =>
  [...nodesOf(machine.root)].map((node) => ({
    id: node.id,
    type: node.type,
    after: node.after.map(({ eventType }) => eventType as string),
    invoke: node.invoke.map(({ id, src }) => [id, src]),
    transitions: transitionsOf(node).map(({ eventType, target }) => [
      eventType,
      target?.map(({ id }) => id) ?? null,
    ]),
  }));

describe.each(shippedActors().map((actor) => [actor.type, actor] as const))('%s', (type, actor) => {
  const { machine, effects } = actor;

  it('contains only what a host can store', () => {
    expect(lintMachine(machine, { effects: Object.keys(effects) })).toEqual([]);
  });

  it('has a description for every state', () => {
    const silent = [...nodesOf(machine.root)].filter(
      (node) => node !== machine.root && !node.description,
    );
    expect(silent.map(({ id }) => id)).toEqual([]);
  });

  it('bounds its own loops', () => {
    expect(machine.config.options?.maxIterations).toBeLessThanOrEqual(1_000);
  });

  it('has a test that reaches every state and transition', () => {
    expect(existsSync(join(import.meta.dirname, `../actors/${type}/machine.test.ts`))).toBe(true);
  });

  it('loads back from its TypeScript export with the same chart', async () => {
    const file = join(folder, `${type}.mjs`);
    const text = exportTypeScript(machine, 'chart');
    writeFileSync(file, transformSync(text, { loader: 'ts', format: 'esm' }).code);
    const { chart } = (await import(pathToFileURL(file).href)) as { chart: AnyStateMachine };
    expect(statesOf(chart)).toEqual(statesOf(machine));
    expect(definitionHash(chart)).toBe(definitionHash(machine));
  });

  it('loads back from its bare exports with the same states and transitions', async () => {
    const file = join(folder, `${type}-bare.mjs`);
    const text = exportTypeScript(machine, 'chart', { bare: true });
    writeFileSync(file, transformSync(text, { loader: 'ts', format: 'esm' }).code);
    const { chart } = (await import(pathToFileURL(file).href)) as { chart: AnyStateMachine };
    expect(statesOf(chart)).toEqual(statesOf(machine));
    const json = createMachine(JSON.parse(exportJson(machine, { bare: true })) as never);
    expect(statesOf(json)).toEqual(statesOf(machine));
  });

  it('loads back from its JSON export with the same chart', () => {
    const chart = createMachine(JSON.parse(exportJson(machine)) as never);
    expect(statesOf(chart)).toEqual(statesOf(machine));
  });

  it('shows every state in its Mermaid export', () => {
    const text = exportMermaid(machine);
    const states = [...nodesOf(machine.root)].filter((node) => node !== machine.root);
    expect(states.filter(({ key }) => !text.includes(key)).map(({ id }) => id)).toEqual([]);
  });
});
