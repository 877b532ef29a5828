/**
 * The looks of a chart: light and dark, and what is lit up by the classes `active`, `open`, `taken`
 * and `chosen`. Colours are custom properties, `--chart-*`.
 */
const light = {
  paper: '#ffffff',
  box: '#f6f8fb',
  leaf: '#ffffff',
  line: '#64748b',
  rim: '#94a3b8',
  ink: '#0f172a',
  soft: '#475569',
  effect: '#6d28d9',
  lit: '#2563eb',
  'lit-fill': '#dbeafe',
  taken: '#b45309',
};

const dark: typeof light = {
  paper: '#0f141c',
  box: '#161d28',
  leaf: '#1d2633',
  line: '#7c8da6',
  rim: '#4b5a70',
  ink: '#e6edf6',
  soft: '#a9b8cc',
  effect: '#c4b5fd',
  lit: '#60a5fa',
  'lit-fill': '#1e3a66',
  taken: '#fbbf24',
};

const variables = (colors: typeof light): string =>
  Object.entries(colors)
    .map(([name, color]) => `--chart-${name}:${color}`)
    .join(';');

const shapes = `
.statechart{background:var(--chart-paper);font-family:Inter,Helvetica,Arial,sans-serif}
.statechart text{fill:var(--chart-soft);font-size:10.5px}
.statechart .centered{text-anchor:middle}
.statechart .title{fill:var(--chart-ink);font-size:12.5px;font-weight:600}
.statechart .note{fill:var(--chart-effect)}
.statechart .state rect{fill:var(--chart-box);stroke:var(--chart-rim)}
.statechart .leaf rect{fill:var(--chart-leaf);stroke:var(--chart-line)}
.statechart .region>rect{stroke-dasharray:5 4}
.statechart .folded>rect{stroke-width:1.8}
.statechart .edge{fill:none;stroke:var(--chart-line);stroke-width:1.1;marker-end:url(#chart-arrow)}
.statechart .start,.statechart .arrow{fill:var(--chart-line)}
.statechart .arrow-taken{fill:var(--chart-taken)}
.statechart .label rect{fill:var(--chart-box)}
.statechart .state.active>rect{stroke:var(--chart-lit);stroke-width:2.2}
.statechart .leaf.active>rect{fill:var(--chart-lit-fill)}
.statechart .state.chosen>rect{stroke-width:3}
.statechart .edge.open{stroke:var(--chart-lit);stroke-width:1.6}
.statechart .label.open text{fill:var(--chart-ink)}
.statechart .edge.taken{stroke:var(--chart-taken);stroke-width:2.6;marker-end:url(#chart-arrow-taken)}
.statechart .label.taken text{fill:var(--chart-taken);font-weight:600}
`;

/** For an element with the class `statechart`; it follows the colour scheme of the reader. */
export const fileStyle =
  `.statechart{${variables(light)};color-scheme:light dark}` +
  `@media(prefers-color-scheme:dark){.statechart{${variables(dark)}}}${shapes}`;

/** For a page that chooses the scheme by `data-theme` on its root element. */
export const pageStyle =
  `.statechart{${variables(light)}}` +
  `@media(prefers-color-scheme:dark){:root:not([data-theme=light]) .statechart{${variables(dark)}}}` +
  `:root[data-theme=dark] .statechart{${variables(dark)}}${shapes}`;
