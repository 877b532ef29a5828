/**
 * Line plots as SVG in plain text, with a legend and a table of the same figures. No script: a
 * point shows its figures by its title.
 */
import { escaped } from './escape.ts';

export type Point = readonly [x: number, y: number];

export type Series = {
  readonly name: string;
  /** colour and dash, from 0; those from 6 on repeat with another dash */
  readonly style: number;
  /** lines; the plot draws nothing between two of them */
  readonly lines: readonly (readonly Point[])[];
};

export type Axis = {
  readonly label: string;
  readonly scale: 'linear' | 'log';
  /** a value with its unit, for ticks, titles and the table */
  readonly text: (value: number) => string;
  /** default: from the points, with 0 on a linear axis */
  readonly max?: number;
  /** default: chosen by the scale */
  readonly ticks?: readonly number[];
};

export type Plot = {
  readonly title: string;
  /** one or two sentences: how to read it */
  readonly note: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly series: readonly Series[];
  /** horizontal lines, for objectives */
  readonly limits?: readonly { readonly y: number; readonly name: string }[];
  /** vertical lines, for the beginnings of steps */
  readonly marks?: readonly { readonly x: number; readonly name: string }[];
};

const WIDTH = 460;
const HEIGHT = 264;
const EDGE = { left: 58, right: 18, top: 34, bottom: 40 };
const DOTS_MAX = 24;
const STYLES = 6;

type Scale = { readonly at: (value: number) => number; readonly ticks: readonly number[] };

/** A `figure` element; empty without a point. */
export function plotHtml(plot: Plot): string {
  const series = plot.series.filter(({ lines }) => lines.some((line) => line.length > 0));
  if (series.length === 0) return '';
  const points = series.flatMap(({ lines }) => lines.flat());
  const limits = plot.limits ?? [];
  const x = scaleOf(
    plot.x,
    points.map(([value]) => value),
    EDGE.left,
    WIDTH - EDGE.right,
  );
  const ys = [...points.map(([, value]) => value), ...limits.map(({ y: limit }) => limit)];
  const y = scaleOf(plot.y, ys, HEIGHT - EDGE.bottom, EDGE.top);
  const legend = series.map(({ name, style }) => legendEntry(name, lineClass(style)));
  if (limits.length > 0) legend.push(legendEntry('objective', 'limit'));
  const parts = [
    axesSvg(plot, x, y),
    ...(plot.marks ?? []).map((mark, n, all) => markSvg(mark, all[n + 1]?.x, x)),
    ...limits.map((limit) => limitSvg(limit, y)),
    ...series.map((each) => seriesSvg(each, plot, x, y)),
  ];
  return `<figure><h3>${escaped(plot.title)}</h3><p>${escaped(plot.note)}</p>
<ul class="legend">${legend.join('')}</ul>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escaped(`${plot.title}. The table below has the same figures.`)}">${parts.join('\n')}</svg>
<details><summary>Figures as a table</summary>${plotTable(plot, series)}</details></figure>`;
}

const lineClass = (style: number): string =>
  `line s${style % STYLES}${style >= STYLES ? ' dashed' : ''}`;

const legendEntry = (name: string, kind: string): string =>
  `<li><svg viewBox="0 0 24 8" class="swatch" aria-hidden="true"><path class="${kind}" d="M0 4H24"/></svg>${escaped(name)}</li>`;

function scaleOf(axis: Axis, values: readonly number[], from: number, to: number): Scale {
  return axis.scale === 'log'
    ? logScale(axis, values, from, to)
    : linearScale(axis, values, from, to);
}

function linearScale(axis: Axis, values: readonly number[], from: number, to: number): Scale {
  const highest = axis.max ?? Math.max(...values);
  const step = niceStep((highest || 1) / 5);
  const max = axis.max ?? Math.max(step, Math.ceil(highest / step - 1e-9) * step);
  const count = Math.floor(max / step + 1e-9);
  const ticks = axis.ticks ?? Array.from({ length: count + 1 }, (_, n) => n * step);
  return { at: (value) => from + ((to - from) * value) / max, ticks };
}

/** 1, 2 or 5 times a power of ten, at least `value`. */
function niceStep(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * (value <= power ? 1 : value <= 2 * power ? 2 : value <= 5 * power ? 5 : 10);
}

/** Values of 0 are drawn at the lower end. */
function logScale(axis: Axis, values: readonly number[], from: number, to: number): Scale {
  const positive = values.filter((value) => value > 0);
  const [least, most] =
    positive.length === 0 ? [1, 10] : [Math.min(...positive), Math.max(...positive)];
  const min = floorOf(least);
  const max = Math.max(ceilingOf(axis.max ?? most), min * 2);
  const span = Math.log10(max / min);
  const all = axis.ticks ?? logTicks(min, max, span);
  const at = (value: number) =>
    from + ((to - from) * Math.log10(Math.max(value, min) / min)) / span;
  return { at, ticks: all.filter((tick) => tick >= min * 0.999 && tick <= max * 1.001) };
}

const FACTORS = [1, 2, 5];

function logTicks(min: number, max: number, span: number): readonly number[] {
  const factors = span > 3 ? [1] : FACTORS;
  const first = Math.floor(Math.log10(min));
  const powers = Array.from(
    { length: Math.ceil(Math.log10(max)) - first + 1 },
    (_, n) => first + n,
  );
  return powers.flatMap((power) => factors.map((factor) => factor * 10 ** power));
}

/** The next of 1, 2, 5, 10 … below or at the value. */
function floorOf(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value) + 1e-9);
  return power * FACTORS.findLast((factor) => factor * power <= value * 1.0001)!;
}

function ceilingOf(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * ([...FACTORS, 10].find((factor) => factor * power >= value * 0.9999) ?? 10);
}

function axesSvg({ x: xAxis, y: yAxis }: Plot, x: Scale, y: Scale): string {
  const right = WIDTH - EDGE.right;
  const bottom = HEIGHT - EDGE.bottom;
  const rows = y.ticks.map((tick) => {
    const at = px(y.at(tick));
    return `<path class="grid" d="M${EDGE.left} ${at}H${right}"/><text x="${EDGE.left - 6}" y="${at}" dy="0.35em" text-anchor="end">${escaped(yAxis.text(tick))}</text>`;
  });
  const columns = x.ticks.map((tick) => {
    const at = px(x.at(tick));
    const anchor = x.at(tick) > right - LABEL_HALF ? 'end' : 'middle';
    const textAt = anchor === 'end' ? WIDTH - 2 : at;
    return `<path class="grid" d="M${at} ${bottom}v4"/><text x="${textAt}" y="${bottom + 16}" text-anchor="${anchor}">${escaped(xAxis.text(tick))}</text>`;
  });
  return `${rows.join('')}<path class="axis" d="M${EDGE.left} ${bottom}H${right}"/>${columns.join('')}
<text x="${(EDGE.left + right) / 2}" y="${HEIGHT - 6}" text-anchor="middle">${escaped(xAxis.label)}</text>
<text x="2" y="11">${escaped(yAxis.label)}</text>`;
}

const MARK_TEXT_MIN = 34;

/** The name is left out where the next mark is too near. */
function markSvg(
  { x: at, name }: { x: number; name: string },
  next: number | undefined,
  x: Scale,
): string {
  const left = x.at(at);
  const space = (next === undefined ? WIDTH - EDGE.right : x.at(next)) - left;
  const text =
    space < MARK_TEXT_MIN
      ? ''
      : `<text class="mark" x="${px(left + 3)}" y="${EDGE.top - 4}">${escaped(name)}</text>`;
  return `<path class="mark" d="M${px(left)} ${EDGE.top - 14}V${HEIGHT - EDGE.bottom}"/>${text}`;
}

const limitSvg = ({ y: at, name }: { y: number; name: string }, y: Scale): string =>
  `<path class="limit" d="M${EDGE.left} ${px(y.at(at))}H${WIDTH - EDGE.right}"><title>${escaped(name)}</title></path>`;

function seriesSvg({ name, style, lines }: Series, plot: Plot, x: Scale, y: Scale): string {
  const place = ([a, b]: Point) => `${px(x.at(a))} ${px(y.at(b))}`;
  const path = lines
    .filter((line) => line.length > 0)
    .map((line) => `M${line.map(place).join('L')}`)
    .join('');
  const points = lines.flat();
  const drawn = `<path class="${lineClass(style)}" d="${path}"/>`;
  if (points.length > DOTS_MAX) return drawn;
  const dots = points.map((point) => {
    const [cx, cy] = place(point).split(' ');
    const title = `${name}: ${plot.y.text(point[1])} at ${plot.x.text(point[0])}`;
    return `<circle class="dot s${style % STYLES}" cx="${cx}" cy="${cy}" r="2.5"><title>${escaped(title)}</title></circle>`;
  });
  return drawn + dots.join('');
}

/** Half of the width of a label below the axis. */
const LABEL_HALF = 22;

const px = (value: number): string => value.toFixed(1);

function plotTable({ title, x, y }: Plot, series: readonly Series[]): string {
  const columns = series.map(({ lines }) => new Map(lines.flat()));
  const xs = [...new Set(columns.flatMap((column) => [...column.keys()]))].toSorted(
    (a, b) => a - b,
  );
  const rows = xs.map((at) => [
    x.text(at),
    ...columns.map((column) => {
      const value = column.get(at);
      return value === undefined ? '' : y.text(value);
    }),
  ]);
  return tableHtml(title, [x.label, ...series.map(({ name }) => name)], rows);
}

/** All cells are text. The first cell of a row is its head. */
export function tableHtml(
  caption: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const titles = head.map((title) => `<th scope="col">${escaped(title)}</th>`).join('');
  const body = rows
    .map(([first = '', ...rest]) => {
      const cells = rest.map((cell) => `<td>${escaped(cell)}</td>`).join('');
      return `<tr><th scope="row">${escaped(first)}</th>${cells}</tr>`;
    })
    .join('\n');
  return `<div class="wide" tabindex="0" role="region" aria-label="${escaped(caption)}"><table><caption>${escaped(caption)}</caption><thead><tr>${titles}</tr></thead><tbody>${body}</tbody></table></div>`;
}
