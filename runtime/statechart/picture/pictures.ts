/**
 * Pictures of machines: each with its drawings, from `charts/layouts.json` when the chart ships
 * with troupe, otherwise laid out once.
 */
import type { AnyStateMachine } from 'xstate';
import type { Chart } from '../../../charts/chart.ts';
import type { Level } from '../../../charts/drawing.ts';
import { chartOf } from './chart-of.ts';
import { layoutHash, layOut } from './layout.ts';

export type Picture = {
  readonly chart: Chart;
  /** changes with the chart */
  readonly hash: string;
  /** by depth; [] where a chart of a user's own cannot be laid out, because elkjs is missing */
  readonly levels: readonly Level[];
};

const pictures = new WeakMap<AnyStateMachine, Promise<Picture>>();

/** @throws TroupeError UNAVAILABLE when the layout fails */
export function pictureOf(machine: AnyStateMachine): Promise<Picture> {
  const known = pictures.get(machine);
  if (known) return known;
  const picture = pictureFor(machine);
  pictures.set(machine, picture);
  // A layout that failed is tried again at the next request.
  picture.catch(() => pictures.delete(machine));
  return picture;
}

async function pictureFor(machine: AnyStateMachine): Promise<Picture> {
  const chart = chartOf(machine);
  const hash = layoutHash(chart);
  const shipped = await shippedLayouts();
  return { chart, hash, levels: shipped[hash] ?? (await layOut(chart)) ?? [] };
}

async function shippedLayouts(): Promise<Readonly<Record<string, readonly Level[]>>> {
  const { default: layouts } = await import('../../../charts/layouts.json', {
    with: { type: 'json' },
  });
  return layouts;
}
