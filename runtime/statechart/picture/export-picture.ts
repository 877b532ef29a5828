/** Pictures of machines as files that can be opened without troupe: SVG, and one HTML page. */
import type { AnyStateMachine } from 'xstate';
import { fitting } from '../../../charts/drawing.ts';
import { type ChartPage, htmlOf } from '../../../charts/html.ts';
import { svgOf } from '../../../charts/svg.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { pictureOf } from './pictures.ts';

/** The pane in which a drawing should be readable, pixels. */
const PANE = { width: 1400, height: 850 };

/**
 * The machine as SVG: all states, or those down to a depth.
 * @throws TroupeError UNAVAILABLE without elkjs, for a machine that does not ship with troupe
 */
export async function exportSvg(
  machine: AnyStateMachine,
  title: string,
  { depth }: { readonly depth?: number } = {},
): Promise<string> {
  const { chart, levels } = await pictureOf(machine);
  const level = levels.find((each) => each.depth === depth) ?? levels.at(-1);
  if (!level)
    throw new TroupeError(
      'UNAVAILABLE',
      'the layout of a chart that does not ship with troupe needs elkjs: npm install elkjs',
    );
  const drawing = fitting(level, PANE.width, PANE.height);
  return `${svgOf(chart, drawing, { title, depth: level.depth, isAlone: true })}\n`;
}

export type NamedMachine = { readonly name: string; readonly machine: AnyStateMachine };

/** One page that shows these machines on every level of depth. It loads nothing. */
export async function exportHtml(machines: readonly NamedMachine[]): Promise<string> {
  const pages = machines.map(async ({ name, machine }): Promise<ChartPage> => {
    const { chart, levels } = await pictureOf(machine);
    const drawings = levels.map((level) => ({
      depth: level.depth,
      drawing: fitting(level, PANE.width, PANE.height),
    }));
    return { name, chart, drawings };
  });
  return htmlOf(await Promise.all(pages));
}
