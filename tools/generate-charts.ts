/**
 * Writes charts/layouts.json, the drawings of all shipped statecharts:
 * `node tools/run.mjs tools/generate-charts.ts`. A chart that has not changed keeps its drawings,
 * so a run without changes takes no time.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { shippedActors } from '../actors/index.ts';
import type { Level } from '../charts/drawing.ts';
import { chartOf } from '../runtime/statechart/picture/chart-of.ts';
import { layoutHash, layOut } from '../runtime/statechart/picture/layout.ts';

const file = join(process.cwd(), 'charts', 'layouts.json');

function stored(): Readonly<Record<string, readonly Level[]>> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, readonly Level[]>;
  } catch {
    return {};
  }
}

const before = stored();
const levels: [string, readonly Level[] | undefined][] = [];
for (const { machine } of shippedActors()) {
  const chart = chartOf(machine);
  const hash = layoutHash(chart);
  levels.push([hash, before[hash] ?? (await layOut(chart))]);
}
const lines = levels.map(([hash, drawings]) => `"${hash}":${JSON.stringify(drawings)}`);
writeFileSync(file, `{\n${lines.join(',\n')}\n}\n`);
