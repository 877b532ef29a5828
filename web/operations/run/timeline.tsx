/** Draws the lanes of a run. The list of steps below it is its text form. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { strings } from '../strings.ts';
import { type Bar, durationText, type Timeline, ticksOf } from './geometry.ts';

const LANE_PX = 46;
const AXIS_PX = 26;
const NAMES_PX = 150;
const NARROW_NAMES_PX = 96;
const NARROW_PX = 560;
const END_PX = 30;
const BAR_PX = 16;
const BAR_MIN_PX = 4;
const NAME_CHARACTERS = { wide: 20, narrow: 12 };

export const TimelineView = (props: {
  timeline: Timeline;
  label: string;
  selected: number | undefined;
  onSelect: (at: number) => void;
}) => {
  const { timeline, label, selected, onSelect } = props;
  const { lanes, bars, arrows, durationMs } = timeline;
  const { box, width } = useWidth();
  const isNarrow = width < NARROW_PX;
  const left = isNarrow ? NARROW_NAMES_PX : NAMES_PX;
  const x = (share: number) => left + share * Math.max(0, width - left - END_PX);
  const y = (lane: number) => AXIS_PX + lane * LANE_PX + LANE_PX / 2;
  const height = AXIS_PX + lanes.length * LANE_PX + 6;
  const most = isNarrow ? NAME_CHARACTERS.narrow : NAME_CHARACTERS.wide;
  const mark = (at: number) => (at === selected ? 'selected' : '');
  return (
    <div class="timeline" ref={box}>
      <svg width={width} height={height} role="img" aria-label={label}>
        {ticksOf(durationMs, isNarrow ? 3 : 6).map((ms) => (
          <g key={ms} class="tick">
            <line x1={x(ms / durationMs)} x2={x(ms / durationMs)} y1={AXIS_PX - 6} y2={height} />
            <text x={x(ms / durationMs)} y={12} text-anchor="middle">
              {durationText(ms)}
            </text>
          </g>
        ))}
        {lanes.map(({ id, name }, lane) => (
          <g key={id} class="lane">
            <line x1={left} x2={width} y1={y(lane)} y2={y(lane)} />
            <LaneName name={name} y={y(lane) + 4} most={most} />
          </g>
        ))}
        {bars.map(({ at, lane, kind, from, to, effect }, n) => (
          <rect
            key={n}
            class={`bar ${kind} ${mark(at)}`}
            x={x(from)}
            y={y(lane) - BAR_PX / 2}
            width={Math.max(BAR_MIN_PX, x(to) - x(from) - 1)}
            height={BAR_PX}
            rx={3}
            onClick={() => at >= 0 && onSelect(at)}
          >
            {effect && <title>{effectText(effect)}</title>}
          </rect>
        ))}
        {arrows.map(({ at, fromLane, toLane, when, kind }) => (
          <g key={at} class={`arrow ${kind} ${mark(at)}`} onClick={() => onSelect(at)}>
            <line x1={x(when)} x2={x(when)} y1={y(fromLane)} y2={y(toLane)} />
            <circle cx={x(when)} cy={y(fromLane)} r={3} />
            <path d={headOf(x(when), y(toLane), Math.sign(toLane - fromLane))} />
          </g>
        ))}
      </svg>
    </div>
  );
};

const LaneName = ({ name, y, most }: { name: string; y: number; most: number }) => (
  <text x={0} y={y}>
    {name.length > most ? `${name.slice(0, most - 1)}…` : name}
    <title>{name}</title>
  </text>
);

const effectText = ({ effect, attempt, durationMs }: NonNullable<Bar['effect']>): string =>
  `${effect}, ${strings.runs.attempt(attempt)}, ${durationText(durationMs)}`;

const headOf = (x: number, y: number, sign: number): string =>
  `M${x - 5} ${y - 8 * sign}L${x} ${y}L${x + 5} ${y - 8 * sign}z`;

const useWidth = () => {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(640);
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const sizes = new ResizeObserver(() => setWidth(element.clientWidth));
    sizes.observe(element);
    return () => sizes.disconnect();
  }, []);
  return { box, width };
};
