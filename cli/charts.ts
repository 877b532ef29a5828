/**
 * `troupe charts`: prints the statecharts of troupe's actors for the Stately editor, the XState
 * extension of VS Code, or as a Markdown page.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AnyStateNode } from 'xstate';
import type { ActorDefinition } from '../runtime/index.ts';
import { TroupeError } from '../protocols/errors.ts';
import { exitCodes } from './exit.ts';
import { table } from '../operations/text.ts';
import { printJson } from './output.ts';
import { makeFolder } from '../runtime/config/index.ts';

export type ChartFormat = 'json' | 'ts' | 'mermaid';
const extensions: Record<ChartFormat, string> = { json: 'json', ts: 'ts', mermaid: 'mmd' };

export async function list({ json = false }: { readonly json?: boolean }): Promise<number> {
  const actors = await shipped();
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

export type ExportOptions = {
  readonly format: ChartFormat;
  /** folder for one file per chart; without it the charts are printed on stdout */
  readonly out?: string;
};

/** @throws TroupeError NOT_FOUND for an unknown type */
export async function exportCharts(
  type: string | undefined,
  options: ExportOptions,
): Promise<number> {
  const { format, out } = options;
  const all = await shipped();
  const chosen = type === undefined ? all : all.filter((actor) => actor.type === type);
  if (chosen.length === 0) {
    const known = all.map((actor) => actor.type).join(', ');
    throw new TroupeError('NOT_FOUND', `unknown actor type ${type}; known: ${known}`);
  }
  const charts = new Map<string, string>();
  for (const actor of chosen) charts.set(actor.type, await render(actor, format));
  if (out === undefined) process.stdout.write(asOneText(charts, format));
  else writeFiles(charts, out, extensions[format]);
  return exitCodes.ok;
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

async function render({ machine, type }: ActorDefinition, format: ChartFormat): Promise<string> {
  const { exportJson, exportMermaid, exportTypeScript } = await import(
    '../runtime/statechart/export.ts'
  );
  if (format === 'json') return exportJson(machine);
  return format === 'ts' ? exportTypeScript(machine, variableName(type)) : exportMermaid(machine);
}

/** `order-line` → `orderLineMachine`. */
const variableName = (type: string) =>
  `${type.replaceAll(/[-_]+(\w)/g, (_, letter: string) => letter.toUpperCase())}Machine`;

async function shipped(): Promise<readonly ActorDefinition[]> {
  const { shippedActors } = await import('../actors/index.ts');
  return shippedActors();
}
