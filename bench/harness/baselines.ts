/**
 * Baselines by kind of machine: `2-amd-epyc.json` is compared with runs on two cores of an AMD
 * EPYC. Figures of another kind say little, so a comparison with one says so.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MachineFacts } from './computer.ts';
import type { Results } from './runner.ts';

export type Baseline = { readonly results: Results; readonly path: string };

type Machine = Pick<MachineFacts, 'cpu' | 'cores'>;

/** Machines of one kind have the same processor and number of cores. */
export const kindOf = ({ cpu, cores }: Machine): string => `${cores} × ${cpu}`;

/** `2-amd-epyc.json` */
export const baselineName = ({ cpu, cores }: Machine): string =>
  `${cores}-${cpu
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')}.json`;

/** The baseline of this kind of machine, else the first of another kind; undefined without any. */
export function defaultBaseline(folder: string, machine: Machine): Baseline | undefined {
  const own = baselineName(machine);
  const names = existsSync(folder)
    ? readdirSync(folder).filter((name) => name.endsWith('.json'))
    : [];
  const chosen = names.includes(own) ? own : names.toSorted()[0];
  if (chosen === undefined) return undefined;
  const path = join(folder, chosen);
  return { results: readResults(path), path };
}

export const readResults = (path: string): Results =>
  JSON.parse(readFileSync(path, 'utf8')) as Results;
