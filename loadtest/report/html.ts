/** The page of a report. */
import type { LoadReport, Step } from '../report.ts';
import { escaped } from './escape.ts';
import {
  type Figures,
  figuresOf,
  measuredText,
  numberText,
  objectiveText,
  percentText,
  PERCENTILE_NAMES,
} from './figures.ts';
import { page } from './page.ts';
import { plotHtml, tableHtml } from './plot.ts';
import { plotsOf, timeText } from './plots.ts';
import { LATENCY_NOTE, machineText, planText, sustainedText, targetText } from './words.ts';

/** One file that opens offline. */
export function reportPage(report: LoadReport): string {
  const title = `Load test${report.label === undefined ? '' : `: ${report.label}`}`;
  const plots = plotsOf(report).map(plotHtml);
  const interrupted = report.interrupted
    ? '<p class="bad">The test was interrupted: its last step is shorter than planned.</p>'
    : '';
  const errors = report.steps.some((step) => figuresOf(step)[0]!.errorShare > 0);
  const body = [
    `<h1>${escaped(title)}</h1><p class="soft">${escaped(targetText(report))}</p>`,
    interrupted,
    answers(report),
    `<p>${escaped(sustainedText(report))}</p>`,
    limits(report),
    `<h2>Steps</h2>${stepTable(report)}<p class="soft">${escaped(LATENCY_NOTE)}</p>`,
    errors ? errorTable(report) : '<p>There were no errors.</p>',
    `<h2>Plots</h2><div class="plots">${plots.join('\n')}</div>`,
    conditions(report),
    terms,
  ];
  return page(title, body.join('\n'));
}

/** The step that the head of the page shows: the sustained one, or the first. */
const shownStep = ({ steps, sustainedPerSecond }: LoadReport): Step =>
  steps.find(({ ratePerSecond }) => ratePerSecond === sustainedPerSecond) ?? steps[0]!;

const lowest = (steps: readonly Step[]): Step | undefined =>
  steps.toSorted((a, b) => a.ratePerSecond - b.ratePerSecond)[0];

function answers(report: LoadReport): string {
  const step = shownStep(report);
  const [all] = figuresOf(step);
  const { p50, p99 } = all!.latency;
  const at = `at ${numberText(step.ratePerSecond)}/s`;
  const sustained = report.sustainedPerSecond;
  const limited = lowest(report.steps.filter(({ missed }) => missed.length > 0)) ?? step;
  const tiles: [string, string, string][] = [
    [
      'Sustained rate',
      sustained === undefined ? 'not shown' : `${numberText(sustained)}/s`,
      report.plan.objectives.map(objectiveText).join(', ') || 'no objectives',
    ],
    ['Half of the requests', p50 === undefined ? 'none' : `≤ ${timeText(p50)}`, `p50 ${at}`],
    ['99 of 100 requests', p99 === undefined ? 'none' : `≤ ${timeText(p99)}`, `p99 ${at}`],
    ['Errors', percentText(all!.errorShare), at],
    ['Limited by', limited.limit.what, `at ${numberText(limited.ratePerSecond)}/s`],
  ];
  const cells = tiles.map(
    ([name, value, note]) =>
      `<div><dt>${escaped(name)}</dt><dd>${escaped(value)}<small>${escaped(note)}</small></dd></div>`,
  );
  return `<dl class="answers">${cells.join('')}</dl>`;
}

function limits({ steps }: LoadReport): string {
  const rows = steps.map(({ ratePerSecond, limit }) => {
    const rate = `${numberText(ratePerSecond)}/s`;
    return `<dt>${escaped(`${rate}: ${limit.what}`)}</dt><dd>${escaped(limit.because)}</dd>`;
  });
  return `<h2>What limited it</h2><dl class="terms">${rows.join('')}</dl>`;
}

const ms = (value: number | undefined): string => (value === undefined ? '–' : numberText(value));

const HEAD = [
  'rate/s',
  'workload',
  'due/s',
  'done/s',
  ...Object.values(PERCENTILE_NAMES),
  'service p50',
  'p99',
  'max',
  'errors',
  'objectives',
];

function stepTable({ steps, plan }: LoadReport): string {
  const hasObjectives = plan.objectives.length > 0;
  const head = HEAD.slice(0, hasObjectives ? undefined : -1);
  const rows = steps.flatMap((step) =>
    figuresOf(step).map((figures, n) => {
      const [first, ...cells] = cellsOf(step, figures);
      const html = cells.map(
        (cell, at) => `<td${at === 0 ? ' class="text"' : ''}>${escaped(cell)}</td>`,
      );
      if (hasObjectives) html.push(objectivesCell(step, n));
      return `<tr${n === 0 ? ' class="all"' : ''}><th scope="row">${escaped(first!)}</th>${html.join('')}</tr>`;
    }),
  );
  const titles = head.map((title) => headCell(title)).join('');
  return `<div class="wide" tabindex="0" role="region" aria-label="Steps"><table><caption>Times in ms.</caption><thead><tr>${titles}</tr></thead><tbody>${rows.join('\n')}</tbody></table></div>`;
}

const TEXT_COLUMNS: readonly string[] = ['workload', 'objectives'];

const headCell = (title: string): string =>
  `<th scope="col"${TEXT_COLUMNS.includes(title) ? ' class="text"' : ''}>${escaped(title)}</th>`;

const cellsOf = (step: Step, figures: Figures): readonly string[] => [
  numberText(step.ratePerSecond),
  figures.workload,
  numberText(figures.duePerSecond),
  numberText(figures.donePerSecond),
  ...Object.keys(PERCENTILE_NAMES).map((name) => ms(figures.latency[name as 'p50'])),
  ms(figures.service.p50),
  ms(figures.service.p99),
  ms(figures.service.max),
  percentText(figures.errorShare),
];

/** In the first row of a step, for all of its objectives. */
function objectivesCell({ missed }: Step, row: number): string {
  if (row > 0) return '<td></td>';
  if (missed.length === 0) return '<td class="text good long">met</td>';
  const texts = missed.map(
    ({ objective, measured }) =>
      `missed ${objectiveText(objective)}: ${measuredText(objective.figure, measured)}`,
  );
  return `<td class="text bad long">${texts.map(escaped).join('<br>')}</td>`;
}

function errorTable({ steps }: LoadReport): string {
  const rows = steps.flatMap((step) => {
    const [all, ...each] = figuresOf(step);
    return (each.length === 0 ? [all!] : each).flatMap(({ workload, errors, unfinished }) => {
      const counts = Object.entries(errors);
      if (unfinished > 0) counts.push(['not ended in time', unfinished]);
      const rate = `${numberText(step.ratePerSecond)}/s`;
      return counts.map(([code, count]) => [rate, workload, code, String(count)]);
    });
  });
  return tableHtml(
    'Errors by step, workload and code',
    ['rate/s', 'workload', 'code', 'requests'],
    rows,
  );
}

function conditions(report: LoadReport): string {
  const command =
    report.command === undefined
      ? ''
      : `<h3>Command</h3><pre><code>${escaped(report.command)}</code></pre>`;
  return `<h2>Conditions</h2>${command}<p>${escaped(planText(report))}</p><p>${escaped(machineText(report))}</p>`;
}

const terms = `<h2>Terms</h2><dl class="terms">
<dt>due</dt><dd>Requests whose time to start had come, whether or not earlier ones were answered (open loop).</dd>
<dt>latency</dt><dd>From the time at which a request was due until its answer. A request that waits in the client, because the target is slow, counts fully.</dd>
<dt>service time</dt><dd>From the time at which the request was sent until its answer.</dd>
<dt>p99</dt><dd>99 of 100 requests were at most as slow. Only requests that succeeded count.</dd>
<dt>failed</dt><dd>Answered with an error, not sent because too many were in flight, or not ended in time.</dd>
</dl>`;
