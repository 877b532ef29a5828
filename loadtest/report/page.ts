/**
 * The frame of a page: one file that opens offline. It loads nothing and runs no script; its
 * Content Security Policy allows only its own style sheet.
 */
import { createHash } from 'node:crypto';
import { escaped } from './escape.ts';

const STYLE = `
:root { color-scheme: light dark; --back: #fff; --card: #f6f7f9; --text: #1b1f24; --soft: #57606a; --rule: #d8dee4;
  --good: #116329; --bad: #b42318; --c0: #0969da; --c1: #bc4c00; --c2: #8250df; --c3: #1a7f37; --c4: #cf222e; --c5: #0e7490; }
@media (prefers-color-scheme: dark) { :root { --back: #0d1117; --card: #161b22; --text: #e6edf3; --soft: #9aa5b1; --rule: #30363d;
  --good: #56d364; --bad: #ff8078; --c0: #58a6ff; --c1: #f0883e; --c2: #bc8cff; --c3: #56d364; --c4: #ff7b72; --c5: #39c5cf; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.25rem 1rem 3rem; background: var(--back); color: var(--text);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .25rem; }
h2 { font-size: 1.2rem; margin: 2.25rem 0 .5rem; }
h3 { font-size: 1rem; margin: 0; }
p { margin: .25rem 0 .75rem; max-width: 46rem; }
.soft, figure p { color: var(--soft); font-size: .9rem; }
.answers { display: grid; grid-template-columns: repeat(auto-fit, minmax(10.5rem, 1fr)); gap: .75rem; margin: 1.25rem 0; padding: 0; }
.answers div { background: var(--card); border: 1px solid var(--rule); border-radius: .5rem; padding: .6rem .8rem; }
.answers dt { color: var(--soft); font-size: .85rem; }
.answers dd { margin: 0; font-size: 1.35rem; font-weight: 600; line-height: 1.3; }
.answers dd small { display: block; font-size: .85rem; font-weight: 400; color: var(--soft); }
.good { color: var(--good); } .bad { color: var(--bad); }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1rem; }
figure { margin: 0; min-width: 0; background: var(--card); border: 1px solid var(--rule); border-radius: .5rem; padding: .9rem 1rem; }
figure > svg { display: block; width: 100%; height: auto; }
figure p { margin: .1rem 0 .4rem; }
svg text { fill: var(--soft); font: 12px system-ui, sans-serif; }
.grid, .axis, .mark { stroke: var(--rule); fill: none; } .axis { stroke: var(--soft); }
path.mark { stroke: var(--soft); stroke-dasharray: 2 3; opacity: .7; } text.mark { stroke: none; fill: var(--soft); font-size: 11px; }
.line { fill: none; stroke-width: 1.8; stroke-linejoin: round; } .line.dashed { stroke-dasharray: 5 4; }
.limit { fill: none; stroke: var(--bad); stroke-width: 1.5; stroke-dasharray: 8 4; }
.s0 { stroke: var(--c0); } .s1 { stroke: var(--c1); } .s2 { stroke: var(--c2); } .s3 { stroke: var(--c3); } .s4 { stroke: var(--c4); } .s5 { stroke: var(--c5); }
.dot { fill: var(--card); stroke-width: 1.5; }
.legend { display: flex; flex-wrap: wrap; gap: .1rem 1rem; list-style: none; margin: .25rem 0; padding: 0; font-size: .85rem; }
.swatch { width: 1.5rem; height: .5rem; margin-right: .35rem; vertical-align: middle; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
caption { text-align: left; color: var(--soft); font-size: .85rem; padding-bottom: .25rem; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid var(--rule); text-align: right; white-space: nowrap; }
th:first-child, .text { text-align: left; } td.long { white-space: normal; min-width: 9rem; }
thead th { color: var(--soft); font-weight: 600; vertical-align: bottom; } tbody th { font-weight: 400; }
tr.all > * { font-weight: 600; } tr.all > *, tr.first > * { border-top: 2px solid var(--rule); }
summary { cursor: pointer; color: var(--soft); font-size: .85rem; margin-top: .4rem; }
pre { background: var(--card); border: 1px solid var(--rule); border-radius: .5rem; padding: .6rem .8rem; white-space: pre-wrap; }
dl.terms { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1rem; } dl.terms dd { margin: 0; color: var(--soft); }
.forest { width: 11rem; height: 1.2rem; vertical-align: middle; } .forest .bar { stroke-width: 2; } .forest .unit { stroke: var(--soft); stroke-dasharray: 2 2; }
.forest .good { stroke: var(--good); fill: var(--good); } .forest .bad { stroke: var(--bad); fill: var(--bad); } .forest .even { stroke: var(--soft); fill: var(--soft); }
@media (max-width: 34rem) { dl.terms { grid-template-columns: 1fr; gap: 0; } dl.terms dd { margin-bottom: .5rem; } th, td { padding: .3rem .45rem; } }
@media print { details > * { display: block; } figure { break-inside: avoid; } }
`;

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** @param body HTML whose texts are escaped */
export const page = (title: string, body: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`;
