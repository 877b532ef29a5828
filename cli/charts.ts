/**
 * `troupe charts`: prints the statecharts of troupe's actors, or of a user's own, for the Stately
 * editor, the XState extension of VS Code, as a Markdown page, or as pictures.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AnyStateNode } from 'xstate';
import type { ChartSource } from './chart-module.ts';
import { defined } from '../protocols/defined.ts';
import { TroupeError } from '../protocols/errors.ts';
import { exitCodes } from './exit.ts';
import { table } from '../operations/text.ts';
import { printJson } from './output.ts';
import { loading } from './progress.ts';
import { makeFolder } from '../runtime/config/index.ts';

export type ChartFormat = 'json' | 'ts' | 'mermaid' | 'svg' | 'html';
const extensions: Record<ChartFormat, string> = {
  json: 'json',
  ts: 'ts',
  mermaid: 'mmd',
  svg: 'svg',
  html: 'html',
};

type SourceOptions = {
  /** a module that exports actor definitions or machines; default: those that ship with troupe */
  readonly actors?: string;
};

export type ListOptions = SourceOptions & { readonly json?: boolean };

export async function list({ json = false, actors: file }: ListOptions): Promise<number> {
  const actors = await chartSources(file);
  const rows = actors.map(({ type, version, machine }) => ({
    type,
    version,
    states: statesIn(machine.root) - 1,
  }));
  if (json) printJson(rows);
  else {
    const cells = rows.map((row) => [row.type, String(row.version), String(row.states)]);
    process.stdout.write(table(['type', 'version', 'states'], cells));
  }
  return exitCodes.ok;
}

/** Includes the node itself. */
const statesIn = ({ states }: AnyStateNode): number =>
  Object.values(states).reduce((sum, state) => sum + statesIn(state), 1);

export type ExportOptions = SourceOptions & {
  readonly format: ChartFormat;
  /** names without the source of functions; of `json` and `ts` */
  readonly bare: boolean;
  /** levels of nested states; of `svg`; default all */
  readonly depth?: number;
  /** folder for one file per chart; without it the charts are printed on stdout */
  readonly out?: string;
};

/** @throws TroupeError NOT_FOUND for an unknown type */
export async function exportCharts(
  type: string | undefined,
  options: ExportOptions,
): Promise<number> {
  const { format, out } = options;
  const all = await chartSources(options.actors);
  const chosen = type === undefined ? all : all.filter((actor) => actor.type === type);
  if (chosen.length === 0) {
    const known = all.map((actor) => actor.type).join(', ');
    throw new TroupeError('NOT_FOUND', `unknown actor type ${type}; known: ${known}`);
  }
  if (format === 'svg' && chosen.length > 1 && out === undefined)
    throw new TroupeError('INVALID_ARGUMENT', 'name one type, or write files with --out DIR');
  const charts = await rendered(chosen, options, type);
  if (out === undefined) process.stdout.write(asOneText(charts, format));
  else writeFiles(charts, out, extensions[format]);
  return exitCodes.ok;
}

/** Texts by file name. HTML is one page with all charts. */
async function rendered(
  chosen: readonly ChartSource[],
  options: ExportOptions,
  type = 'charts',
): Promise<ReadonlyMap<string, string>> {
  if (options.format === 'html') {
    const { exportHtml } = await import('../runtime/statechart/picture/export-picture.ts');
    const machines = chosen.map(({ type: name, machine }) => ({ name, machine }));
    return new Map([[type, await exportHtml(machines)]]);
  }
  const charts = new Map<string, string>();
  for (const actor of chosen) charts.set(actor.type, await render(actor, options));
  return charts;
}

/** Several JSON charts are printed as one JSON object, by type. */
function asOneText(charts: ReadonlyMap<string, string>, format: ChartFormat): string {
  const texts = [...charts.values()];
  if (format !== 'json' || texts.length === 1) return texts.join('\n');
  const byType = [...charts].map(([type, text]): [string, unknown] => [type, JSON.parse(text)]);
  return `${JSON.stringify(Object.fromEntries(byType), null, 2)}\n`;
}

function writeFiles(charts: ReadonlyMap<string, string>, folder: string, extension: string): void {
  makeFolder(folder);
  for (const [type, text] of charts) {
    const file = join(folder, `${type}.${extension}`);
    writeFileSync(file, text);
    process.stdout.write(`${file}\n`);
  }
}

async function render(
  { machine, type }: ChartSource,
  { format, bare, depth }: ExportOptions,
): Promise<string> {
  if (format === 'svg') {
    const { exportSvg } = await import('../runtime/statechart/picture/export-picture.ts');
    return exportSvg(machine, type, defined({ depth }));
  }
  const { exportJson, exportMermaid, exportTypeScript } = await import(
    '../runtime/statechart/export.ts'
  );
  if (format === 'json') return exportJson(machine, { bare });
  if (format === 'mermaid') return exportMermaid(machine);
  return exportTypeScript(machine, variableName(type), { bare });
}

/** `order-line` → `orderLineMachine`. */
const variableName = (type: string) =>
  `${type.replaceAll(/[-_]+(\w)/g, (_, letter: string) => letter.toUpperCase())}Machine`;

async function chartSources(file: string | undefined): Promise<readonly ChartSource[]> {
  if (file !== undefined) return (await import('./chart-module.ts')).chartsIn(file);
  const { shippedActors } = await loading('the charts', () => import('../actors/index.ts'));
  return shippedActors();
}
