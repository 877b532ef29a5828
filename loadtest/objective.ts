/** Objectives of load tests as users write them: `p99<=500ms`, `errors<=1% of chats`. */
import { TroupeError } from '../protocols/errors.ts';
import type { Objective } from './report.ts';

const OBJECTIVE =
  /^\s*(p50|p90|p99|p99\.9|p999|max|errors)\s*<=?\s*(\d+(?:\.\d+)?)\s*(ms|s|%)?(?:\s+of\s+(\S+))?\s*$/;
/** From the unit to ms, or to a share. */
const DIVISORS: Readonly<Record<string, number>> = { '': 1, ms: 1, s: 0.001, '%': 100 };

/**
 * `FIGURE<=LIMIT`, and ` of WORKLOAD` for one workload. Times are in `ms` (the default) or `s`;
 * errors are a share, as `1%` or `0.01`.
 * @throws TroupeError INVALID_ARGUMENT
 */
export function parseObjective(text: string): Objective {
  const [, name, number, unit, workload] = OBJECTIVE.exec(text) ?? [];
  const figure = name === 'p99.9' ? 'p999' : (name as Objective['figure'] | undefined);
  const fits = figure === 'errors' ? isShare(unit, Number(number)) : unit !== '%';
  if (figure === undefined || !fits)
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `"${text}" is no objective: write p50, p90, p99, p99.9 or max with a time, as "p99=500ms", or errors with a share, as "errors=1%"; for one workload "p99=500ms@chats"`,
    );
  const atMost = Number(number) / DIVISORS[unit ?? '']!;
  return { figure, atMost, ...(workload === undefined ? {} : { workload }) };
}

const isShare = (unit: string | undefined, value: number): boolean =>
  unit === '%' ? value <= 100 : unit === undefined && value <= 1;
