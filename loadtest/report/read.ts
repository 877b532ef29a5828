/** Reads the file of a report, and checks all of it before anything uses it. */
import { plainName } from '../../protocols/plain-text.ts';
import { checker } from '../../protocols/check.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { LoadReport, type Outcome } from '../report.ts';
import { Latencies } from './latencies.ts';

const check = checker(LoadReport);
const VERSION = 1;
const SHOWN_CHARACTERS_MAX = 40;

/**
 * @param text the content of the file @param name of the file, for errors
 * @throws TroupeError INVALID_ARGUMENT when it is not JSON, another format, a newer version, or
 * damaged
 */
export function readReport(text: string, name: string): LoadReport {
  const value = parsed(text, name);
  const { format, version } = value;
  if (format !== 'troupe-load-report') {
    const found = typeof format === 'string' ? `the format "${shown(format)}"` : 'no format';
    throw wrong(name, `is no report of a load test: it names ${found}, not "troupe-load-report"`);
  }
  if (typeof version === 'number' && version > VERSION)
    throw wrong(
      name,
      `has version ${version}, and this troupe reads version ${VERSION}: use a newer troupe`,
    );
  const answer = check(value);
  if (!answer.ok) {
    const [first] = answer.errors;
    throw wrong(name, `is damaged: ${shown(first?.path || '/')} ${shown(first?.message ?? '')}`);
  }
  checkOutcomes(answer.value, name);
  return answer.value;
}

function parsed(text: string, name: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const hint = text.trim() === '' ? 'it is empty' : 'it may have been cut off';
    throw wrong(name, `is not JSON: ${hint}`, cause);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw wrong(name, 'is no report of a load test: it is not a JSON object');
  return value as Record<string, unknown>;
}

/** The histograms can be read, and contain each request that succeeded. */
function checkOutcomes({ steps }: LoadReport, name: string): void {
  for (const [n, step] of steps.entries()) {
    const parts: [string, Record<string, Outcome>][] = [
      [`step ${n + 1}`, step.workloads],
      ...step.windows.map(({ at, workloads }): [string, Record<string, Outcome>] => [
        `step ${n + 1}, window at ${at} s`,
        workloads,
      ]),
    ];
    for (const [where, workloads] of parts)
      for (const [workload, outcome] of Object.entries(workloads))
        checkHistograms(outcome, name, `${where}, ${shown(workload)}`);
  }
}

function checkHistograms(outcome: Outcome, name: string, where: string): void {
  for (const kind of ['latency', 'service'] as const) {
    let total: number;
    try {
      total = Latencies.decode(outcome[kind]).total;
    } catch (cause) {
      throw wrong(name, `is damaged: ${where}: the histogram "${kind}" cannot be read`, cause);
    }
    if (total !== outcome.succeeded)
      throw wrong(
        name,
        `is damaged: ${where}: the histogram "${kind}" has ${total} requests, but ${outcome.succeeded} succeeded`,
      );
  }
}

const shown = (text: string): string => plainName(text, SHOWN_CHARACTERS_MAX * 3);

const wrong = (name: string, what: string, cause?: unknown): TroupeError =>
  new TroupeError('INVALID_ARGUMENT', `${name} ${what}`, { cause });
