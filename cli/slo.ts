/** `troupe slo`: targets, what was measured, and whether each is kept (EN17). */
import type { Objective, SloReport } from '../runtime/index.ts';
import { exitCodes } from './exit.ts';
import { gatewayHttp } from './gateway-http.ts';
import type { ClientOptions } from './options.ts';
import { table } from '../operations/text.ts';
import { printJson } from './output.ts';

export type SloOptions = ClientOptions & {
  readonly hours?: number;
  readonly tenant?: string;
};

/** Exit code 1 when an objective is broken; one that has nothing to measure is not. */
export async function slo({ hours, tenant, ...options }: SloOptions): Promise<number> {
  const http = await gatewayHttp(options);
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ hours, tenant }))
    if (value !== undefined) query.set(name, String(value));
  const report = await http<SloReport>({ method: 'GET', path: `/v1/slo?${query}` });
  if (options.json) printJson(report);
  else process.stdout.write(pageOf(report));
  return report.kept ? exitCodes.ok : exitCodes.failure;
}

function pageOf({ tenant, hours, tasks, estimated, objectives }: SloReport): string {
  const head = ['objective', 'target', 'measured', 'of', 'kept', 'what'];
  const count = `${estimated ? 'about ' : ''}${tasks}`;
  return `${count} tasks of ${tenant} in ${hours} h\n${table(head, objectives.map(cells))}`;
}

const cells = ({ name, target, measured, unit, samples, kept, what }: Objective): string[] => [
  name,
  `<= ${shown(target, unit)}`,
  measured === null ? '-' : shown(measured, unit),
  String(samples),
  kept === null ? 'nothing yet' : kept ? 'yes' : 'NO',
  what,
];

const shown = (value: number, unit: Objective['unit']): string =>
  unit === 'ratio' ? `${(value * 100).toFixed(3)} %` : `${Math.round(value * 10) / 10} ${unit}`;
