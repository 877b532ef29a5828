/**
 * Results as text: a table per scenario, the comparison with a baseline, and the verdicts of gates.
 */
import { type Gate, judge, type Verdict } from './gates.ts';
import { kindOf } from './baselines.ts';
import type { Figure, Results, ScenarioResult } from './runner.ts';
import { moreIsBetter, type Unit } from './scenario.ts';

/** Smaller changes are not reported as better or worse. */
const NOTABLE_CHANGE = 0.1;

export function reportOf(results: Results, gates: readonly Gate[]): string {
  const { cpu, cores, memoryMb, node, os, folder, fileSystem } = results.machine;
  const head = [
    `troupe bench, scale ${results.scale}, ${results.startedAt}`,
    `${cores} × ${cpu}, ${memoryMb} MB, ${os}, Node ${node}, stores in ${folder} (${fileSystem})`,
  ];
  return [...head, ...results.scenarios.map((one) => tableOf(one, gates))].join('\n');
}

function tableOf(result: ScenarioResult, gates: readonly Gate[]): string {
  const { name, question, seconds, load } = result;
  const busy = `${Math.round(load.busy * 100)} % of the machine was busy before`;
  const head = `\n${name}: ${question}\n  ${seconds.toFixed(1)} s, load ${load.average.toFixed(1)}, ${busy}`;
  if (result.status === 'failed') return `${head}\n  FAILED: ${result.why}`;
  const rows = Object.entries(result.figures).map(([key, figure]) => [
    `  ${figure.label}`,
    isMeasured(figure) ? amount(figure.median, figure.unit) : 'not installed',
    isMeasured(figure) && figure.values.length > 1
      ? `${amount(figure.min, figure.unit)} … ${amount(figure.max, figure.unit)}`
      : '',
    besideLimit(figure, result.figures),
    gateText(
      gates.find((gate) => gate.figure === `${name}.${key}`),
      figure,
    ),
  ]);
  return `${head}\n${aligned([['  figure', 'median', 'least … most', 'beside its limit', 'gate'], ...rows])}`;
}

function besideLimit(figure: Figure, figures: Readonly<Record<string, Figure>>): string {
  const limit = figure.limit === undefined ? undefined : figures[figure.limit];
  if (!limit || limit.median === 0 || !isMeasured(limit) || !isMeasured(figure)) return '';
  const share = figure.median / limit.median;
  return moreIsBetter(figure.unit)
    ? `${Math.round(share * 100)} % of ${amount(limit.median, limit.unit)}`
    : `${share.toFixed(1)} × ${amount(limit.median, limit.unit)}`;
}

function gateText(gate: Gate | undefined, { median, unit }: Figure): string {
  if (!gate) return '';
  const { passed, reached } = judge(gate, median, unit);
  const sign = moreIsBetter(unit) ? '≥' : '≤';
  const asked = `${sign} ${amount(gate.threshold, unit)} ${passed ? 'ok' : 'MISSED'}`;
  if (gate.goal === undefined) return asked;
  const goal = `goal ${sign} ${amount(gate.goal, unit)} ${reached ? 'reached' : 'not reached'}`;
  return gate.threshold === 0 ? goal : `${asked}, ${goal}`;
}

/** Every gate of the measured scenarios, and whether all of them are met. */
export function verdictsOf(
  results: Results,
  gates: readonly Gate[],
): { text: string; passed: boolean } {
  const lines: string[] = [];
  let passed = true;
  for (const result of results.scenarios) {
    if (result.status === 'failed') {
      passed = false;
      lines.push(`FAILED  ${result.name}: ${result.why.split('\n')[0]}`);
      continue;
    }
    for (const gate of gates.filter(({ figure }) => figure.startsWith(`${result.name}.`))) {
      const figure = result.figures[gate.figure.slice(result.name.length + 1)];
      if (!figure) {
        passed = false;
        lines.push(`FAILED  ${gate.figure}: there is no such figure`);
        continue;
      }
      try {
        const verdict = judge(gate, figure.median, figure.unit);
        passed &&= verdict.passed;
        lines.push(verdictLine(verdict, figure.unit));
      } catch (error) {
        passed = false;
        lines.push(`FAILED  ${(error as Error).message}`);
      }
    }
  }
  return { text: `\ncheck\n${lines.map((line) => `  ${line}`).join('\n')}`, passed };
}

function verdictLine({ gate, value, passed, reached, margin }: Verdict, unit: Unit): string {
  const sign = moreIsBetter(unit) ? '≥' : '≤';
  const far = `${Math.abs(Math.round(margin * 100))} % ${margin >= 0 ? 'to spare' : 'short'}`;
  const share = gate.threshold === 0 ? '' : `, ${far}`;
  const asked = `, asked ${sign} ${amount(gate.threshold, unit)}${share}`;
  const goal =
    gate.goal === undefined
      ? ''
      : `; goal ${amount(gate.goal, unit)} ${reached ? 'reached' : 'not reached'}`;
  return `${passed ? 'ok    ' : 'MISSED'}  ${gate.figure}: ${amount(value, unit)}${asked}${goal}`;
}

/** Figures of both runs with their change; those that are notably worse are marked. */
export function compare(results: Results, baseline: Results): string {
  const rows: string[][] = [['  figure', 'baseline', 'now', 'change', '']];
  for (const result of results.scenarios) {
    const before = baseline.scenarios.find(({ name }) => name === result.name);
    if (result.status !== 'measured' || before?.status !== 'measured') continue;
    for (const [key, now] of Object.entries(result.figures)) {
      const then = before.figures[key];
      if (then && then.median !== 0 && isMeasured(then) && isMeasured(now))
        rows.push(changeRow(`${result.name}.${key}`, then, now));
    }
  }
  const differs = baseline.scale === results.scale ? '' : ` (its scale was ${baseline.scale})`;
  const [here, there] = [kindOf(results.machine), kindOf(baseline.machine)];
  const other =
    here === there ? '' : `\n  ANOTHER KIND OF MACHINE: this is ${here}; only ratios count`;
  const head = `\ncompared with ${baseline.startedAt} on ${there}${differs}${other}`;
  return rows.length > 1 ? `${head}\n${aligned(rows)}` : `${head}: no figure in common`;
}

function changeRow(name: string, then: Figure, now: Figure): string[] {
  const change = now.median / then.median - 1;
  const better = change > 0 === moreIsBetter(now.unit);
  // A change within the spread of the repeats of either run means nothing.
  const overlap = now.min <= then.max && then.min <= now.max;
  const notable = Math.abs(change) >= NOTABLE_CHANGE && !overlap;
  return [
    `  ${name}`,
    amount(then.median, then.unit),
    amount(now.median, now.unit),
    `${change >= 0 ? '+' : ''}${Math.round(change * 100)} %`,
    notable ? (better ? 'better' : 'WORSE') : '',
  ];
}

const isMeasured = ({ median }: Figure): boolean => Number.isFinite(median);

/** At least three digits, with separators of thousands, followed by the unit. */
export function amount(value: number, unit: Unit): string {
  if (unit === 'count') return value.toLocaleString('en');
  const digits = value === 0 || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const number = value.toLocaleString('en', {
    minimumFractionDigits: digits,
    maximumFractionDigits: Math.abs(value) < 0.1 && value !== 0 ? 4 : digits,
  });
  return unit === 'ratio' ? number : `${number} ${unit === '1/s' ? '/s' : unit}`;
}

/** Aligns the first column left, amounts right, and the rest left. */
function aligned(rows: readonly (readonly string[])[]): string {
  const columns = Math.max(...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  const cell = (text: string, column: number) => {
    const width = widths[column] ?? 0;
    return column === 1 ? text.padStart(width) : text.padEnd(width);
  };
  return rows.map((row) => row.map(cell).join('  ').trimEnd()).join('\n');
}
