/** Adds the styles of charts and of the actors' views to the document, once. */
import { pageStyle } from '../../charts/style.ts';

const added = new Set<string>();

export function addStyle(text: string): void {
  if (added.has(text)) return;
  added.add(text);
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}

const controls = `
.chart{display:flex;flex-direction:column;min-height:0;height:100%;border:1px solid var(--line);border-radius:var(--radius-small,9px);overflow:hidden}
.chart-bar{display:flex;flex-wrap:wrap;align-items:center;gap:.25rem;padding:.3rem .4rem;border-bottom:1px solid var(--line)}
.chart-bar button{font:inherit;font-size:.8rem;line-height:1.4;min-width:1.9rem;padding:.15rem .5rem;border:1px solid var(--line);border-radius:7px;background:transparent;color:inherit;cursor:pointer}
.chart-bar button[aria-pressed=true]{border-color:var(--accent);color:var(--accent);font-weight:600}
.chart-at{margin-left:auto;padding-left:.5rem;font-size:.78rem;color:var(--muted);overflow:hidden;text-overflow:ellipsis;white-space:nowrap;min-width:0}
.chart-stage{position:relative;flex:1;min-height:0;overflow:hidden;background:var(--chart-paper)}
.chart-stage svg{position:absolute;inset:0;width:100%;height:100%;touch-action:none;cursor:grab}
.chart-stage svg:active{cursor:grabbing}
.chart-stage svg:focus-visible{outline:2px solid var(--accent);outline-offset:-2px}
.chart .edge{transition:stroke .15s,stroke-width .15s}
.chart .edge.taken{stroke-dasharray:7 4;animation:chart-flow .5s linear 3}
@keyframes chart-flow{to{stroke-dashoffset:-22}}
.chart-outline{margin:0;padding:.5rem .75rem;overflow:auto;list-style:none;font-size:.85rem}
.chart-outline ul{list-style:none;margin:0;padding-left:1.1rem}
.chart-outline [role=treeitem]>span{display:inline-block;padding:.05rem .4rem;border-radius:6px;cursor:pointer}
.chart-outline [aria-current=true]>span{background:var(--busy-soft);color:var(--busy);font-weight:600}
.chart-outline :focus-visible{outline:none}
.chart-outline :focus-visible>span{outline:2px solid var(--accent)}
.chart-hidden{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
@media(prefers-reduced-motion:reduce){.chart .edge,.chart .edge.taken{transition:none;animation:none}}
`;

export const addChartStyle = (): void => addStyle(pageStyle + controls);
