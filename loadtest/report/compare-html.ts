/** The page of a comparison. */
import type { LoadReport } from '../report.ts';
import { type ComparedPercentile, type Comparison, errorCells } from './compare.ts';
import { escaped } from './escape.ts';
import { numberText, PERCENTILE_NAMES, sumOf } from './figures.ts';
import { page } from './page.ts';
import { type Plot, plotHtml, tableHtml } from './plot.ts';
import { percentileAxes, percentilePoints } from './plots.ts';
import { INTERVAL_NOTE, machineText, planText, targetText } from './words.ts';

/** One file that opens offline. */
export function comparisonPage(
  before: LoadReport,
  after: LoadReport,
  comparison: Comparison,
): string {
  const nameOf = ({ label, startedAt }: LoadReport) => label ?? startedAt;
  const title = `Load tests compared: ${nameOf(before)} and ${nameOf(after)}`;
  const body = [
    `<h1>${escaped(title)}</h1>`,
    summary(comparison),
    list(
      'The plans differ, so the figures do not mean the same (before | after)',
      comparison.planDiffers,
    ),
    list('Other differences (before | after)', comparison.alsoDiffers),
    `<h2>Latency</h2>${ratioTable(comparison.percentiles)}<p class="soft">${escaped(INTERVAL_NOTE)} The longest request is not compared: one request decides it.</p>`,
    errorTable(comparison),
    `<h2>Latency by percentile</h2><div class="plots">${overlays(before, after).map(plotHtml).join('\n')}</div>`,
    ...[['Before', before] as const, ['After', after] as const].map(
      ([name, report]) =>
        `<h2>${name}</h2><p>${escaped(targetText(report))}</p><p>${escaped(planText(report))}</p><p>${escaped(machineText(report))}</p>`,
    ),
  ];
  return page(title, body.join('\n'));
}

function summary({ percentiles, sustainedPerSecond: { before, after } }: Comparison): string {
  const count = (verdict: string) => percentiles.filter((row) => row.verdict === verdict).length;
  const sustained =
    before === undefined && after === undefined
      ? ''
      : ` Sustained requests per second: ${ms(before)} before, ${ms(after)} after.`;
  return `<p>${escaped(`Of ${percentiles.length} percentiles, ${count('slower')} are slower, ${count('faster')} are faster, and ${count('no difference shown')} show no difference.${sustained}`)}</p>`;
}

const ms = (value: number | undefined): string => (value === undefined ? '–' : numberText(value));

const list = (title: string, lines: readonly string[]): string =>
  lines.length === 0
    ? ''
    : `<h2>${escaped(title)}</h2><ul>${lines.map((line) => `<li>${escaped(line)}</li>`).join('')}</ul>`;

const KINDS = { slower: 'bad', faster: 'good', 'no difference shown': 'even' } as const;

function ratioTable(rows: readonly ComparedPercentile[]): string {
  const far = Math.max(
    1.25,
    ...rows.flatMap(({ ratio }) => (ratio ? [ratio.high, 1 / ratio.low] : [])),
  );
  const titles = [
    'rate/s',
    'workload',
    '',
    'before, ms',
    'after, ms',
    'ratio',
    '95 %',
    '',
    'verdict',
  ];
  const head = titles
    .map((title) => {
      const kind = title === 'workload' || title === 'verdict' ? ' class="text"' : '';
      return `<th scope="col"${kind}>${escaped(title)}</th>`;
    })
    .join('');
  const body = rows.map((row) => {
    const { ratio, notCompared = '', verdict } = row;
    const cells = [
      `<td class="text">${escaped(row.workload)}</td>`,
      `<td>${PERCENTILE_NAMES[row.figure]}</td>`,
      `<td>${ms(row.before)}</td><td>${ms(row.after)}</td>`,
      `<td>${ratio ? numberText(ratio.value) : '–'}</td>`,
      `<td>${ratio ? `${numberText(ratio.low)} to ${numberText(ratio.high)}` : notCompared}</td>`,
      `<td>${ratio ? forest(row, Math.min(far, 16)) : ''}</td>`,
      `<td class="text ${KINDS[verdict]}">${verdict}</td>`,
    ];
    const first = row.figure === 'p50' ? ' class="first"' : '';
    return `<tr${first}><th scope="row">${numberText(row.ratePerSecond)}</th>${cells.join('')}</tr>`;
  });
  return `<div class="wide" tabindex="0" role="region" aria-label="Latency"><table><thead><tr>${head}</tr></thead><tbody>${body.join('\n')}</tbody></table></div>`;
}

/**
 * The interval on a logarithmic scale with 1 in the middle. @param far the ratio at its right end
 */
function forest({ ratio, verdict }: ComparedPercentile, far: number): string {
  const at = (value: number) => {
    const share = Math.log(Math.max(1 / far, Math.min(far, value))) / Math.log(far);
    return (80 + 76 * share).toFixed(1);
  };
  const { low, value, high } = ratio!;
  return `<svg class="forest" viewBox="0 0 160 16" aria-hidden="true"><path class="unit" d="M80 0V16"/><path class="bar ${KINDS[verdict]}" d="M${at(low)} 8H${at(high)}"/><circle class="${KINDS[verdict]}" cx="${at(value)}" cy="8" r="3.5"/></svg>`;
}

function errorTable({ errors }: Comparison): string {
  const rows = errorCells(errors);
  if (rows.length === 0) return '<p>Neither test had errors.</p>';
  return tableHtml(
    'Errors, share of all requests',
    ['rate/s', 'workload', 'before', 'after', 'verdict'],
    rows,
  );
}

const PLOTS_MAX = 8;

/** For each step of both, all workloads together. */
function overlays(before: LoadReport, after: LoadReport): readonly Plot[] {
  return before.steps.slice(0, PLOTS_MAX).flatMap((step): Plot[] => {
    const other = after.steps.find(({ ratePerSecond }) => ratePerSecond === step.ratePerSecond);
    if (!other) return [];
    const both = [step, other].map(({ workloads }) => sumOf(Object.values(workloads), 'latency'));
    return [
      {
        title: `At ${numberText(step.ratePerSecond)} requests per second`,
        note: 'All workloads. How many requests took at most how long; each mark to the right is ten times rarer.',
        ...percentileAxes(both),
        series: both.map((latencies, n) => ({
          name: n === 0 ? 'before' : 'after',
          style: n,
          lines: [percentilePoints(latencies)],
        })),
      },
    ];
  });
}
