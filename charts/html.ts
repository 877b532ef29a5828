/**
 * Charts as one HTML page that needs no network and no troupe: a list of charts, the levels of
 * each, and for every state what it is, runs, handles and defers. The page's outline is readable
 * without the picture and without scripts.
 */
import { type Chart, type ChartState, statesOf } from './chart.ts';
import type { Drawing } from './drawing.ts';
import { viewerScript } from './html-viewer.ts';
import { fileStyle } from './style.ts';
import { ARROWS, escaped, svgOf } from './svg.ts';

export type ChartPage = {
  readonly name: string;
  readonly chart: Chart;
  readonly drawings: readonly { readonly depth: number; readonly drawing: Drawing }[];
};

const looks = `
:root{color-scheme:light dark;--paper:#fff;--ink:#0f172a;--soft:#475569;--rim:#cbd5e1}
@media(prefers-color-scheme:dark){:root{--paper:#0f141c;--ink:#e6edf6;--soft:#a9b8cc;--rim:#334155}}
body{margin:0;background:var(--paper);color:var(--ink);font:14px/1.5 system-ui,sans-serif}
header{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:center;padding:.6rem 1rem;border-bottom:1px solid var(--rim)}
h1{font-size:1rem;margin:0}h2{font-size:1rem;margin:0 0 .4rem}
button,select{font:inherit;color:inherit;background:transparent;border:1px solid var(--rim);border-radius:6px;padding:.25rem .6rem}
option{background:var(--paper)}
button[aria-pressed=true]{border-color:#2563eb;box-shadow:inset 0 0 0 1px #2563eb}
main{display:grid;grid-template-columns:minmax(0,1fr) 20rem;align-items:start}
figure{margin:0;padding:1rem;overflow:auto}
.fit svg{max-width:100%;max-height:calc(100vh - 6rem);width:auto;height:auto}
[data-state]{cursor:pointer}
aside{padding:1rem;border-left:1px solid var(--rim);overflow-wrap:anywhere;max-height:calc(100vh - 5rem);overflow:auto}
details{margin:.25rem 0 .25rem .6rem}summary{cursor:pointer}
aside p,dl{margin:.15rem 0 .15rem 1rem;color:var(--soft)}dt{font-weight:600}dd{margin:0 0 0 1rem}
[hidden]{display:none}.arrows{position:absolute}
@media(max-width:800px){main{display:block}aside{border-left:0;border-top:1px solid var(--rim);max-height:none}}
`;

export function htmlOf(pages: readonly ChartPage[]): string {
  const title = pages.length === 1 ? `${pages[0]!.name}: statechart` : 'Statecharts';
  const options = pages.map(({ name }) => `<option>${escaped(name)}</option>`);
  const choice = `<label>Chart <select id="chart">${options.join('')}</select></label>`;
  return [
    '<!doctype html>',
    '<html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escaped(title)}</title><style>${fileStyle}${looks}</style></head><body>`,
    `<header><h1>${escaped(title)}</h1>${pages.length > 1 ? choice : ''}`,
    '<span id="levels" role="group" aria-label="Depth"></span>',
    '<button id="fit" aria-pressed="true">Fit</button></header>',
    // Not hidden: a browser draws no arrow heads of a hidden element.
    `<svg class="statechart arrows" width="0" height="0" aria-hidden="true">${ARROWS}</svg>`,
    ...pages.map(chartMarkup),
    `<script>${viewerScript()}</script></body></html>`,
    '',
  ].join('\n');
}

function chartMarkup({ name, chart, drawings }: ChartPage, n: number): string {
  const figures = drawings.map(({ depth, drawing }) => {
    const svg = svgOf(chart, drawing, { title: `${name}, ${depth} levels`, depth, isAlone: false });
    return `<figure class="fit" data-depth="${depth}"${depth === drawings[0]?.depth ? '' : ' hidden'}>${svg}</figure>`;
  });
  const outline = `<aside aria-label="States"><h2>States</h2>${stateOutline(chart.root, chart)}</aside>`;
  const pictures = `<div>${figures.join('\n')}</div>`;
  return `<main data-chart="${escaped(name)}"${n === 0 ? '' : ' hidden'}>${pictures}${outline}</main>`;
}

function stateOutline(state: ChartState, chart: Chart): string {
  const { path, key, kind, description, invokes, handles, defers, states } = state;
  const from = chart.edges.filter((edge) => edge.from === path);
  const keys = new Map([...statesOf(chart.root)].map((each) => [each.path, each.key]));
  const facts: readonly (readonly [string, readonly string[]])[] = [
    ['runs', invokes],
    ['goes to', from.map(({ to, labels }) => `${to || keys.get(to)}: ${labels.join(', ')}`)],
    ['handles', handles],
    ['defers', defers],
  ];
  const lists = facts
    .filter(([, values]) => values.length > 0)
    .map(([name, values]) => `<dt>${name}</dt>${values.map(definition).join('')}`);
  return [
    `<details data-path="${escaped(path)}"${path === '' ? ' open' : ''}>`,
    `<summary>${escaped(key)}${kind === 'final' || kind === 'parallel' ? ` (${kind})` : ''}</summary>`,
    description === undefined ? '' : `<p>${escaped(description)}</p>`,
    lists.length > 0 ? `<dl>${lists.join('')}</dl>` : '',
    ...states.map((child) => stateOutline(child, chart)),
    '</details>',
  ].join('');
}

const definition = (text: string): string => `<dd>${escaped(text)}</dd>`;
