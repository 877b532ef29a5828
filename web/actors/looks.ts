/** The looks of the views of actors; loaded with them. Colours are those of the page. */
import { addStyle } from '../charts/looks.ts';

const style = `
.actors{display:grid;grid-template-columns:minmax(14rem,19rem) minmax(0,1fr);flex:1;min-width:0;min-height:0;height:100%}
.actors-side{display:flex;flex-direction:column;min-height:0;border-right:1px solid var(--line)}
.actors-filters{display:grid;grid-template-columns:1fr 1fr;gap:.4rem;padding:.75rem}
.actors-filters input{grid-column:1/-1}
.actors-filters :is(input,select){font:inherit;font-size:.9rem;min-width:0;padding:.4rem .6rem;border:1px solid var(--line);border-radius:9px;background:var(--raised);color:inherit}
.actors-count,.actors-none{margin:0;padding:0 .9rem .4rem;font-size:.8rem;color:var(--muted)}
.actors-hint{align-self:center;justify-self:center;padding:2rem;text-align:center}
.actor-rows{flex:1;min-height:0;overflow:auto;overflow-anchor:none}
.actor-rows:focus-visible{outline:2px solid var(--accent);outline-offset:-2px}
.actor-row{display:flex;align-items:center;gap:.5rem;padding:0 .9rem 0 1.6rem;font-size:.85rem;cursor:pointer;white-space:nowrap;box-sizing:border-box}
.actor-row.of-type{padding-left:.7rem}
.actor-row:hover{background:var(--sunken)}
.actor-row.open{background:var(--busy-soft)}
.actor-rows:focus-visible .actor-row.current{box-shadow:inset 0 0 0 2px var(--accent)}
.actor-key{flex:1;min-width:0;overflow:hidden;text-overflow:ellipsis}
.actor-row .actor-state{max-width:45%;overflow:hidden;text-overflow:ellipsis;font-size:.75rem;color:var(--muted)}
.dot{width:.5rem;height:.5rem;border-radius:50%;background:var(--muted);flex:none}
.dot.good{background:var(--ok)}.dot.bad{background:var(--failed)}
.actors .tag,.session-chart .tag{font-size:.75rem;padding:.05rem .5rem;border-radius:99px;border:1px solid var(--line);white-space:nowrap}
.tag.good{color:var(--ok)}.tag.bad{color:var(--failed)}
.actors .muted,.session-chart .muted{color:var(--muted)}
.actor{display:flex;flex-direction:column;min-width:0;min-height:0}
.actor-head{display:flex;flex-wrap:wrap;align-items:center;gap:.35rem .7rem;padding:.7rem 1rem}
.actor-head h2{font-size:1rem;margin:0;overflow-wrap:anywhere}
.actor-orders{display:flex;flex-wrap:wrap;gap:.4rem;margin-left:auto}
.actor-orders button{font-size:.85rem}
.actor-effects .actor-orders{margin:.2rem 0 .5rem}
.send-event{margin-top:.9rem}
.send-event summary{cursor:pointer;font-weight:600}
.send-event form{display:grid;gap:.5rem;margin-top:.5rem;justify-items:start}
.send-event label{display:grid;gap:.2rem;width:100%}
.send-event :is(input,textarea){font:inherit;font-family:var(--mono);font-size:.8rem;padding:.35rem .5rem;border:1px solid var(--line);border-radius:7px;background:var(--raised);color:inherit;min-width:0;width:100%;box-sizing:border-box}
.actor-back{display:none;font:inherit;color:var(--accent);background:none;border:0;padding:.3rem 0;cursor:pointer}
.actor-body{display:grid;grid-template-columns:minmax(0,1fr) minmax(16rem,21rem);gap:1rem;flex:1;min-height:0;padding:0 1rem 1rem}
.actor-chart{min-height:18rem}
.actor-facts{overflow:auto;min-height:0;font-size:.87rem;overflow-wrap:anywhere}
.actor-facts h3{font-size:.78rem;font-weight:600;margin:.9rem 0 .25rem;color:var(--muted)}
.actor-facts section:first-child>h3{margin-top:0}
.actor-facts p{margin:.2rem 0}
.actor-facts ul{margin:0;padding:0;list-style:none}
.actor-facts code{font-family:var(--mono);font-size:.8rem}
.codes{display:flex;flex-wrap:wrap;gap:.25rem}
.codes code{display:block;padding:.05rem .4rem;border-radius:6px;background:var(--sunken)}
.reasons li{padding:.35rem .6rem;border-left:3px solid var(--accent);margin-bottom:.3rem;background:var(--sunken);border-radius:0 7px 7px 0}
.state-facts{padding:.6rem .75rem;border:1px solid var(--line);border-radius:9px}
.state-facts>h3{color:inherit;font-size:.9rem}
.turn-slider{display:flex;gap:.6rem;align-items:center}
.turn-slider input{flex:1;min-width:0;accent-color:var(--accent)}
.turn-slider button{font:inherit;font-size:.8rem;border:1px solid var(--line);border-radius:7px;padding:.15rem .6rem;background:transparent;color:inherit;cursor:pointer}
.turn-slider button[aria-pressed=true]{border-color:var(--accent);color:var(--accent)}
.turn-list{list-style:none;margin:.4rem 0 0;padding:0}
.turn-list button{display:flex;flex-direction:column;width:100%;text-align:left;font:inherit;color:inherit;background:none;border:0;border-left:3px solid var(--line);padding:.3rem .6rem;cursor:pointer;overflow-wrap:anywhere}
.turn-list button:hover{background:var(--sunken)}
.turn-list [aria-current=true]>button{border-left-color:var(--accent);background:var(--sunken)}
.turn-head{display:flex;flex-wrap:wrap;gap:.1rem .5rem;align-items:baseline}
.turn-head time{margin-left:auto;font-size:.75rem;color:var(--muted)}
.turn-state{font-family:var(--mono);font-size:.78rem}
.turn-list .muted{font-size:.75rem}
.session-chart{display:flex;flex-direction:column;gap:.5rem;min-height:0;height:100%}
.session-chart-names{display:flex;flex-wrap:wrap;gap:.3rem}
.session-chart-names button{font:inherit;font-size:.8rem;border:1px solid var(--line);border-radius:99px;padding:.15rem .7rem;background:transparent;color:inherit;cursor:pointer;max-width:14rem;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.session-chart-names button[aria-pressed=true]{border-color:var(--accent);color:var(--accent)}
.session-chart .chart{flex:1}
@media(max-width:1560px){.actor-body{grid-template-columns:minmax(0,1fr);overflow:auto;grid-template-rows:minmax(20rem,56vh) max-content}.actor-facts{overflow:visible;min-height:max-content;columns:2 17rem;column-gap:2rem}.actor-facts>section{break-inside:avoid-column}.actor-facts>section:last-child{break-inside:auto}}
@media(max-width:760px){.actor-facts{columns:auto}.actors{grid-template-columns:minmax(0,1fr)}.actors.has-open .actors-side,.actors-hint{display:none}.actor-back{display:block}.actors-side{border-right:0}}
`;

export const addActorStyle = (): void => addStyle(style);
