import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { transformSync } from 'esbuild';
import { afterAll, describe, expect, it } from 'vitest';
import {
  type AnyStateMachine,
  type AnyStateNode,
  assign,
  createMachine,
  not,
  or,
  setup,
} from 'xstate';
import { effect, hostActions } from '../../../protocols/statechart.ts';
import { definitionHash } from '../../../runtime/statechart/check.ts';
import { exportJson, exportMermaid, exportTypeScript } from '../../../runtime/statechart/export.ts';
import { nodesOf } from '../../../runtime/statechart/facts.ts';
import { initialState, step } from '../../../runtime/statechart/host.ts';
import { transitionsOf } from '../../../runtime/statechart/parts.ts';
import { input, maze, meta, order, player } from './machines.ts';

/** Every notation that a printer may get wrong. */
const odd = setup({
  types: {
    context: {} as { 'two words': string },
    events: {} as { type: "it's" | 'a-b' | '__proto' | 'twice' },
  },
  actors: { work: effect<null, null>() },
  actions: {
    ...hostActions,
    note: assign({ 'two words': () => 'line\nbreak "quoted" \\ \'single\'' }),
  },
  guards: {
    named(_, params: { n: number }) {
      return params.n > 1;
    },
    isOpen: not('isShut'),
    isShut: () => false,
  },
  delays: { 'long delay': 5 },
}).createMachine({
  id: 'odd-one',
  description: 'It\'s "odd": {}; #1\nsecond line',
  context: () => ({ 'two words': '' }),
  initial: 'a b',
  states: {
    'a b': {
      on: {
        "it's": {
          guard: or([{ type: 'named', params: { n: 2 } }, 'isOpen']),
          target: 'c.d',
          actions: 'note',
        },
        'a-b': undefined,
        __proto: [
          { guard: 'isShut', target: 'c' },
          { target: 'a b', reenter: true },
        ],
        twice: { actions: ['note', 'note'] },
      },
      after: { 'long delay': 'c', 10: 'c' },
    },
    c: {
      type: 'parallel',
      on: { twice: '.d.inner', 'a-b': { target: ['.d.inner', '.e.inner'] } },
      states: {
        d: { initial: 'inner', states: { inner: { on: { twice: '#there' } } } },
        e: { initial: 'inner', states: { inner: { id: 'there' } } },
      },
    },
  },
});
const charts: [string, AnyStateMachine][] = [
  ['order', order],
  ['player', player],
  ['maze', maze],
  ['odd', odd],
];

/**
 * States and transitions with everything that determines their targets; guards and actions by name
 * or kind.
 */
const shape = (machine: AnyStateMachine) =>
  [...nodesOf(machine.root)].map((node: AnyStateNode) => ({
    id: node.id,
    type: node.type,
    history: node.history,
    description: node.description,
    tags: node.tags,
    meta: node.meta as unknown,
    initial: node.type === 'compound' ? node.initial.target.map(({ id }) => id) : [],
    invoke: node.invoke.map(({ id, src }) => [id, src]),
    after: node.after.map(({ eventType, delay }) => [eventType, delay]),
    transitions: transitionsOf(node).map(({ eventType, target, reenter, guard, actions }) => ({
      eventType,
      target: target?.map(({ id }) => id) ?? null,
      reenter,
      guarded: guard !== undefined,
      actions: actions.length,
    })),
  }));

const folder = mkdtempSync(join(import.meta.dirname, '.export-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the exported text as a user would: compiled and imported. */
async function evaluate(text: string, name: string): Promise<AnyStateMachine> {
  const file = join(folder, `${name}.mjs`);
  writeFileSync(file, transformSync(text, { loader: 'ts', format: 'esm' }).code);
  const module = (await import(pathToFileURL(file).href)) as Record<string, AnyStateMachine>;
  return module[name]!;
}

describe('the TypeScript export', () => {
  it.each(charts)(
    'of %s loads back with the same states, transitions and names',
    async (name, machine) => {
      const loaded = await evaluate(exportTypeScript(machine, name), name);
      expect(shape(loaded)).toEqual(shape(machine));
      expect(definitionHash(loaded)).toBe(definitionHash(machine));
    },
  );

  it('keeps guards, assigns, params and delays working', async () => {
    const loaded = await evaluate(exportTypeScript(order, 'order'), 'order');
    const pay = (machine: AnyStateMachine, total: number) => {
      const { live } = initialState(machine, input, meta);
      const {
        outcome,
        requests,
        live: next,
      } = step(machine, live, { event: { type: 'order.pay', total, meta } }, 1000);
      return {
        outcome,
        context: next.snapshot.context as unknown,
        starts: requests.filter((ask) => ask.kind === 'start').length,
      };
    };
    expect(pay(order, 7)).toMatchObject({ outcome: 'moved' });
    expect(pay(loaded, 7)).toEqual(pay(order, 7));
    expect(pay(loaded, 0)).toEqual(pay(order, 0));
  });

  it('is one literal without spread or computed key', () => {
    for (const [name, machine] of charts) {
      const chart = exportTypeScript(machine, name).split('.createMachine(')[1]!;
      expect(chart.replace(/=>[^\n]*/g, '')).not.toMatch(/\.\.\.|^\s*\[[^\]]*\]:/m);
    }
  });
});

describe('the JSON export', () => {
  it.each(charts)(
    'of %s loads back through createMachine with the same states and transitions',
    (_, machine) => {
      const loaded = createMachine(JSON.parse(exportJson(machine)) as never);
      expect(shape(loaded)).toEqual(shape(machine));
    },
  );

  it('keeps a forbidden transition, and functions as their source', () => {
    const loaded = JSON.parse(exportJson(odd)) as typeof odd.config;
    expect(loaded.states?.['a b']?.on?.['a-b']).toEqual({});
    expect(JSON.stringify(loaded.context)).toContain('$expr');
  });
});

describe('the Mermaid export', () => {
  const words = (text: string) => text.replaceAll(/[^\w]+/g, ' ').trim();

  it.each(charts)(
    'of %s has every state, and an arrow or a loop for every transition',
    (_, machine) => {
      const lines = exportMermaid(machine).split('\n');
      const labels = lines.flatMap(
        (line) => / --> \S+ : (.*)$/.exec(line)?.[1]?.split('<br/>') ?? [],
      );
      const nodes = [...nodesOf(machine.root)];
      const drawn = nodes.flatMap((node) =>
        transitionsOf(node).flatMap(({ target }) => target ?? [node]),
      );
      expect(labels).toHaveLength(drawn.length);
      expect(
        lines.filter((line) => /^ *state "/.test(line) && !line.includes('"any"')),
      ).toHaveLength(nodes.length);
      for (const node of nodes) {
        for (const { eventType, guard } of transitionsOf(node)) {
          const said = labels.map(words);
          if (eventType && !eventType.startsWith('xstate.'))
            expect(said.some((label) => label.startsWith(words(eventType)))).toBe(true);
          if (typeof guard === 'string')
            expect(labels.some((label) => label.includes(`[${guard}]`))).toBe(true);
        }
      }
    },
  );

  it('names the cause of a transition, and a nested target in its label', () => {
    const text = `${exportMermaid(order)}${exportMermaid(player)}`;
    for (const line of [
      'order_waiting --> order_charging : order.pay [isPositive] / keep, reply',
      'order_charging --> order_packing : done(charge) / keepReceipt',
      'order_charging --> order_backingOff : error(charge) [attemptsRemain]',
      'order_charging --> order_failed : after patience',
      'order_shipped --> [*]',
      'player_v1_off --> player_v1_on : back (to film.hist)',
      'state "last (H*)" as player_v1_on_sound_audible_last',
      'player_v1_on_film_moving_any --> player_v1_on_film_moving_any : play<br/>tick / publish',
    ]) {
      expect(text).toContain(`  ${line}\n`);
    }
  });

  it('names a state only in its own block, because Mermaid would move it', () => {
    for (const [, machine] of charts) {
      const depths = new Map<string, number>();
      const named: [string, number][] = [];
      for (const line of exportMermaid(machine).split('\n')) {
        const depth = line.search(/\S/);
        const state = /^ *state ".*" as (\w+)/.exec(line)?.[1];
        if (state) depths.set(state, depth);
        const [, from, to] = /^ *(\S+) --> (\S+)/.exec(line) ?? [];
        for (const end of [from, to]) if (end && end !== '[*]') named.push([end, depth]);
      }
      for (const [state, depth] of named)
        expect([state, depths.get(state)]).toEqual([state, depth]);
    }
  });

  it('is valid for any text in the chart', () => {
    const text = exportMermaid(createMachine({ id: 'm', on: { 'a:b;c#"d"': {} } }));
    expect(text).toContain("m --> m : a∶b,c'd'\n");
  });
});
