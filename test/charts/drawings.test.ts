/** The drawings of every chart that ships: readable, whole, and current. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { setup } from 'xstate';
import { shippedActors } from '../../actors/index.ts';
import { activePaths, type Chart, fold, statesOf } from '../../charts/chart.ts';
import { type Box, boxesOf, type Drawing, edgesOf, type Level } from '../../charts/drawing.ts';
import { drawingMarkup } from '../../charts/svg.ts';
import { chartOf } from '../../runtime/statechart/picture/chart-of.ts';
import { layoutHash, layOut } from '../../runtime/statechart/picture/layout.ts';

const layouts = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../charts/layouts.json'), 'utf8'),
) as Record<string, readonly Level[]>;

const isOver = (a: Box, b: Box): boolean =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
const isInside = (inner: Box, outer: Box): boolean =>
  inner.x >= outer.x - 1 &&
  inner.y >= outer.y - 1 &&
  inner.x + inner.width <= outer.x + outer.width + 1 &&
  inner.y + inner.height <= outer.y + outer.height + 1;

/** What a reader could not read, in words. */
function faultsOf(chart: Chart, depth: number, drawing: Drawing): string[] {
  const folded = fold(chart, depth);
  const boxes = boxesOf(folded, drawing);
  const edges = edgesOf(folded, drawing);
  const whole = { x: 0, y: 0, width: drawing.width, height: drawing.height };
  const states = [...statesOf(folded.root)];
  const leaves = states.filter((state) => state.states.length === 0);
  const labels = edges.flatMap(({ edge, label }) =>
    label ? [{ name: `${edge.from}>${edge.to}`, label }] : [],
  );
  return [
    ...states
      .flatMap((state) => state.states.map((child) => [state, child] as const))
      .filter(([state, child]) => !isInside(boxes.get(child.path)!, boxes.get(state.path)!))
      .map(([, child]) => `${child.path} is not inside of its parent`),
    ...leaves.flatMap((a, n) =>
      leaves
        .slice(n + 1)
        .filter((b) => isOver(boxes.get(a.path)!, boxes.get(b.path)!))
        .map((b) => `${a.path} covers ${b.path}`),
    ),
    ...labels.flatMap(({ name, label }, n) => [
      ...leaves
        .filter(({ path }) => isOver(label, boxes.get(path)!))
        .map(({ path }) => `the label of ${name} covers ${path}`),
      ...labels
        .slice(n + 1)
        .filter((other) => isOver(label, other.label))
        .map((other) => `the label of ${name} covers that of ${other.name}`),
      ...(isInside(label, whole) ? [] : [`the label of ${name} is outside`]),
    ]),
    ...edges
      .filter(({ points }) => points.length < 4)
      .map(({ edge }) => `${edge.from}>${edge.to} has no line`),
    ...[...boxes]
      .filter(([, box]) => !isInside(box, whole) || box.width === 0)
      .map(([path]) => `${path} is outside`),
  ];
}

describe.each(shippedActors().map(({ type, machine }) => [type, machine] as const))(
  'the drawings of %s',
  (_, machine) => {
    const chart = chartOf(machine);
    const levels = layouts[layoutHash(chart)] ?? [];

    it('are current: otherwise run `node tools/run.mjs tools/generate-charts.ts`', () => {
      expect(levels.length).toBeGreaterThan(0);
    });

    it('show every state and transition, and no label covers a state or another label', () => {
      for (const { depth, down, right } of levels) {
        expect(faultsOf(chart, depth, down)).toEqual([]);
        expect(faultsOf(chart, depth, right)).toEqual([]);
      }
    });
  },
);

it('a label that covers a state or leaves the drawing is found', () => {
  const chart = chartOf(shippedActors().find(({ type }) => type === 'counter')!.machine);
  const { down } = layouts[layoutHash(chart)]![0]!;
  const [x = 0, y = 0] = down.states.slice(4);
  const [, , width = 0, height = 0, ...line] = down.edges[0]!;
  const moved = (at: number[]) => ({ ...down, edges: [[...at, width, height, ...line]] });
  const alone = { ...chart, edges: chart.edges.slice(0, 1) };
  expect(faultsOf(alone, 1, moved([x, y])).join()).toContain('covers');
  expect(faultsOf(alone, 1, moved([-40, y])).join()).toContain('is outside');
});

const valve = setup({ guards: { isOpen: () => true } }).createMachine({
  id: 'valve',
  initial: 'shut',
  on: { knock: {} },
  states: {
    shut: { on: { open: 'open', push: 'open' }, meta: { defer: ['close'] } },
    open: {
      initial: 'ajar',
      states: { ajar: { on: { pull: 'wide' } }, wide: { on: { close: '#valve.shut' } } },
      on: { close: { target: 'shut', guard: 'isOpen' } },
    },
  },
});

describe('a chart', () => {
  const chart = chartOf(valve);

  it('has one edge for each pair of states, and lists what changes no state', () => {
    expect(chart.edges).toEqual([
      { from: 'shut', to: 'open', labels: ['open', 'push'] },
      { from: 'open', to: 'shut', labels: ['close [isOpen]'] },
      { from: 'open.ajar', to: 'open.wide', labels: ['pull'] },
      { from: 'open.wide', to: 'shut', labels: ['close'] },
    ]);
    expect(chart.root).toMatchObject({ handles: ['knock'], initial: 'shut' });
    expect(chart.root.states[0]).toMatchObject({ path: 'shut', defers: ['close'] });
  });

  it('folded lifts transitions to the states that remain', () => {
    const folded = fold(chart, 1);
    expect([...statesOf(folded.root)].map(({ path }) => path)).toEqual(['', 'shut', 'open']);
    expect(folded.edges).toEqual([
      { from: 'shut', to: 'open', labels: ['open', 'push'] },
      { from: 'open', to: 'shut', labels: ['close [isOpen]', 'close'] },
    ]);
  });

  it('of a user’s own is laid out in a thread', async () => {
    const levels = await layOut(chart);
    expect(levels?.map(({ depth }) => depth)).toEqual([1, 2]);
    for (const { depth, down, right } of levels ?? []) {
      expect(faultsOf(chart, depth, down)).toEqual([]);
      expect(faultsOf(chart, depth, right)).toEqual([]);
    }
  });

  it('with markup in its names is drawn as text', async () => {
    const odd = chartOf(
      setup({}).createMachine({
        id: 'odd',
        initial: '<img src=x onerror=alert(1)>',
        states: {
          '<img src=x onerror=alert(1)>': { description: '"><script>', on: { '</g>&': 'b' } },
          b: {},
        },
      }),
    );
    const [level] = (await layOut(odd)) ?? [];
    const markup = drawingMarkup(odd, level!.down, 1);
    expect(markup).not.toMatch(/<img|<script|<\/g>&[^l]/);
    expect(markup).toContain('&lt;img src=x onerror=alert(1)&gt;');
  });
});

describe('the active states of a value', () => {
  it.each([
    ['a', ['', 'a']],
    [{ a: 'b' }, ['', 'a', 'a.b']],
    [{ a: { b: 'c' }, d: {} }, ['', 'a', 'a.b', 'a.b.c', 'd']],
    [undefined, ['']],
  ])('%j are %j', (value, paths) => {
    expect(activePaths(value)).toEqual(paths);
  });
});
