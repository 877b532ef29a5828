/** `bench -- scale`, the model of docs/scaling.md, the gates and the choice of a baseline. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  baselineName,
  defaultBaseline,
  kindOf,
  readResults,
} from '../../bench/harness/baselines.ts';
import { gates, judge } from '../../bench/harness/gates.ts';
import { compare } from '../../bench/harness/report.ts';
import { type FigureSpec, moreIsBetter } from '../../bench/harness/scenario.ts';
import { idleWorker, needsOf, planTable, serverTurnUs } from '../../bench/scale-model.ts';
import { scaleRows, scaleText } from '../../bench/scale.ts';
import { scenarios } from '../../bench/scenarios.ts';

const page = readFileSync('docs/scaling.md', 'utf8');

describe('the efficiency of workers', () => {
  const one = { workers: 1, perSecond: 10_000, workersUs: 60, serverUs: 10, gatewayUs: 30 };
  const two = { workers: 2, perSecond: 12_000, workersUs: 80, serverUs: 15, gatewayUs: 30 };

  test('is relative to one worker, by rate and by processor time', () => {
    const [first, second] = scaleRows([one, two], 2);
    expect(first).toMatchObject({ byRate: 1, byProcessor: 1, coresPerSecond: 20_000 });
    expect(second).toMatchObject({ byRate: 0.6, byProcessor: 0.8, coresPerSecond: 16_000 });
    expect(scaleRows([], 2)).toEqual([]);
  });

  test('is printed with the limits of the same run', () => {
    const around = { cores: 2, cpu: 'abacus', busy: 3, publishPerSecond: 17_000 };
    const text = scaleText(scaleRows([one, two], 2), around);
    expect(text).toMatch(/ 2 +12,000 \/s +75 % +60 % +80 % +80 +15 +30\n/);
    expect(text).toContain('limit of NATS in this run: 17,000 /s');
    expect(text).toContain('All processes share 2 cores');
  });
});

/** The measured points of the page: by label, a value for each size. */
function measuredPoints() {
  const start = page.indexOf('| actors × shards |');
  const lines = page.slice(start, page.indexOf('\n\n', start)).split('\n');
  const cells = (line: string) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
  const number = (text: string) => Number(text.replaceAll(',', ''));
  const [head = '', , ...rows] = lines;
  const sizes = cells(head)
    .slice(1)
    .map((text) => text.split(' × ').map(number));
  const points = new Map(rows.map(cells).map(([label, ...values]) => [label!, values.map(number)]));
  return { sizes: sizes as [actors: number, shards: number][], points };
}

describe('the model on paper', () => {
  const cellOf = ([actors, shards]: readonly [number, number]) => {
    const load = { residentOfShard: 1_000, replicas: 1, turns: 1_000 };
    return needsOf({ workers: 1, gateways: 1, actors, shards, ...load });
  };
  const { sizes, points } = measuredPoints();
  type Size = (typeof sizes)[number];
  const large = ([actors, shards]: Size) => actors / shards >= 10_000;

  test.each<[label: string, predict: (size: Size) => number, factor: number, of?: typeof large]>([
    ['worker, resident with its copy of rows, MB', (size) => cellOf(size).workerMb, 1.25],
    ['nats-server, resident, MB', (size) => cellOf(size).serverMb, 1.5],
    ['snapshot of one shard, MB', (size) => cellOf(size).snapshotMb, 1.1, large],
    ['to load the shard without local data, ms', (size) => cellOf(size).loadMs, 1.3, large],
    ['processor time of a turn, worker, µs', () => 85, 1.35],
    ['the same, nats-server, µs', ([, shards]) => serverTurnUs(shards), 1.4],
    ['idle, of a core: worker, %', ([, shards]) => idleWorker(shards) * 100, 1.6],
  ])('predicts %s', (label, predict, factor, of = () => true) => {
    const values = points.get(label);
    const checked = sizes.flatMap((size, at) =>
      of(size) ? [{ size, ratio: predict(size) / values![at]! }] : [],
    );
    expect(checked.length).toBeGreaterThan(1);
    for (const { size, ratio } of checked) {
      expect(ratio, `${label} of ${size.join(' × ')}`).toBeLessThanOrEqual(factor);
      expect(ratio, `${label} of ${size.join(' × ')}`).toBeGreaterThanOrEqual(1 / factor);
    }
  });

  test('has its table in docs/scaling.md', () => {
    const spaces = (text: string) => text.replaceAll(/ +/g, ' ').replaceAll(/-+:/g, '-:');
    expect(spaces(page)).toContain(spaces(planTable()));
  });

  test('needs more of everything for more actors and shards', () => {
    const cell = { workers: 10, gateways: 2, residentOfShard: 1_000, replicas: 3, turns: 1_000 };
    const few = needsOf({ ...cell, actors: 1e5, shards: 64 });
    const many = needsOf({ ...cell, actors: 1e7, shards: 640 });
    for (const key of ['workerMb', 'serverMb', 'consumers', 'heartbeatsMb', 'snapshotsGb'] as const)
      expect(many[key]).toBeGreaterThan(few[key]);
  });
});

describe('every gate', () => {
  const baselines = readdirSync('bench/baselines').map((name) =>
    readResults(join('bench/baselines', name)),
  );
  const figureOf = (name: string): FigureSpec | undefined => {
    const [scenario, figure = ''] = name.split('.');
    return scenarios.find((one) => one.name === scenario)?.figures[figure];
  };

  test.each(gates)('$figure can fail', ({ figure, threshold, goal }) => {
    const spec = figureOf(figure);
    expect(spec, 'a scenario has this figure').toBeDefined();
    const { unit } = spec!;
    const more = moreIsBetter(unit);
    const gate = { figure, threshold };
    // A threshold of zero is for things that must not occur: one is too many.
    const worse = threshold === 0 ? 1 : more ? threshold * 0.99 : threshold * 1.01;
    expect(judge(gate, worse, unit).passed).toBe(false);
    expect(judge(gate, Number.NaN, unit).passed).toBe(false);
    if (goal !== undefined) expect(more ? goal > threshold : goal < threshold).toBe(true);
  });

  test.each(gates)(
    '$figure fails at a tenth of the measured performance',
    ({ figure, threshold }) => {
      const { unit } = figureOf(figure)!;
      const [scenario, name = ''] = figure.split('.');
      for (const { scenarios: all } of baselines) {
        const result = all.find((one) => one.name === scenario);
        const median = result?.status === 'measured' ? result.figures[name]?.median : undefined;
        if (median === undefined || median === null) continue;
        const worse = moreIsBetter(unit) ? median / 10 : Math.max(0.001, median * 10);
        expect(judge({ figure, threshold }, worse, unit).passed, `${median}`).toBe(false);
      }
    },
  );
});

describe('the default baseline', () => {
  const machine = { cpu: 'AMD EPYC', cores: 2 };

  test('is that of the same processor and number of cores', () => {
    expect(baselineName(machine)).toBe('2-amd-epyc.json');
    expect(baselineName({ cpu: 'Intel(R) Xeon(R) @ 2.70GHz', cores: 8 })).toBe(
      '8-intel-r-xeon-r-2-70ghz.json',
    );
    for (const name of readdirSync('bench/baselines'))
      expect(baselineName(readResults(join('bench/baselines', name)).machine)).toBe(name);
  });

  test('is one of another kind when there is none of this, and the comparison says so', () => {
    const folder = mkdtempSync(join(tmpdir(), 'troupe-baselines-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    expect(defaultBaseline(join(folder, 'missing'), machine)).toBeUndefined();
    mkdirSync(join(folder, 'own'));
    const { results } = defaultBaseline('bench/baselines', machine)!;
    const other = { ...results, machine: { ...results.machine, cores: 64 } };
    writeFileSync(join(folder, 'own', baselineName(other.machine)), JSON.stringify(other));
    const found = defaultBaseline(join(folder, 'own'), machine)!;
    expect(kindOf(found.results.machine)).toBe('64 × AMD EPYC');
    expect(compare(results, found.results)).toContain(
      'ANOTHER KIND OF MACHINE: this is 2 × AMD EPYC',
    );
    expect(compare(results, results)).not.toContain('ANOTHER KIND');
  });
});
