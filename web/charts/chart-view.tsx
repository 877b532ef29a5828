/**
 * A chart that shows where its actor is: active states, the transitions out of them, and the one
 * just taken. The drawing is markup that is made once per depth; a turn changes classes of a few
 * elements only.
 */
import { useMemo, useRef, useState } from 'preact/hooks';
import { activeLeaves, activePaths, depthOf } from '../../charts/chart.ts';
import { fitting, type Level } from '../../charts/drawing.ts';
import { litAt, type ShownTurn } from '../../charts/lit.ts';
import type { PublishedChart } from '../../charts/published.ts';
import { Stage } from './chart-stage.tsx';
import { addChartStyle } from './looks.ts';
import { Outline } from './outline.tsx';
import { strings } from './strings.ts';
import type { Size } from './view-box.ts';

export type ChartViewProps = {
  readonly published: PublishedChart;
  /** state value of the actor; undefined shows the chart alone */
  readonly value: unknown;
  /** the turn that led to it */
  readonly turn?: ShownTurn | undefined;
  readonly chosen?: string | undefined;
  readonly onChoose?: (path: string) => void;
  /** small: without the choice of depth */
  readonly isSmall?: boolean;
};

/** The smallest scale at which a level is offered as the first picture. */
const OVERVIEW_SCALE = 0.7;
/** Where less of a whole chart fits, it follows the actor from the start. */
const FOLLOW_SCALE = 0.55;

/** A depth; `follow`: the active state; `free`: as the reader moved it. */
type Mode = number | 'follow' | 'free';

export const ChartView = (props: ChartViewProps) => {
  addChartStyle();
  const { published, value, turn } = props;
  const { levels, chart, type } = published;
  const [pane, stage] = usePane();
  const [chosen, setMode] = useState<Mode>();
  const [isOutline, setOutline] = useState(false);
  const mode = chosen ?? firstMode(levels, pane, props);
  const shownDepth = useRef(1);
  const isFollowing = mode === 'follow' && value !== undefined;
  if (isFollowing) shownDepth.current = activeDepth(levels, value);
  else if (mode !== 'free') shownDepth.current = mode === 'follow' ? (levels[0]?.depth ?? 1) : mode;
  const depth = shownDepth.current;
  const level = levels.find((each) => each.depth === depth);
  const lit = useMemo(() => litAt(chart, depth, value, turn), [chart, depth, value, turn]);
  const hasOutline = isOutline || levels.length === 0;
  const everywhere = useMemo(() => new Set(value === undefined ? [] : activePaths(value)), [value]);
  const choose = props.onChoose ?? (() => {});
  return (
    <div class="chart">
      {levels.length > 0 && (
        <Bar
          depths={props.isSmall || hasOutline ? [] : levels.map((each) => each.depth)}
          depth={isFollowing ? undefined : depth}
          at={value === undefined ? '' : placeOf(value)}
          isFollowing={isFollowing}
          isOutline={isOutline}
          onDepth={setMode}
          onFollow={() => setMode(isFollowing ? depth : 'follow')}
          onOutline={() => setOutline(!isOutline)}
        />
      )}
      <div class="chart-stage" ref={stage}>
        {hasOutline ? (
          <Outline
            root={chart.root}
            name={strings.statesOf(type)}
            active={everywhere}
            chosen={props.chosen}
            onChoose={choose}
          />
        ) : (
          level && (
            <Stage
              {...{ published, level, lit, pane, value, turn, isFollowing }}
              isFree={mode === 'free'}
              chosen={props.chosen}
              onChoose={choose}
              onMove={() => setMode('free')}
            />
          )
        )}
      </div>
      <p class="chart-hidden" role="status">
        {value === undefined ? '' : strings.activeStates(activeLeaves(value))}
      </p>
    </div>
  );
};

type BarProps = {
  /** that can be chosen */
  readonly depths: readonly number[];
  readonly depth: number | undefined;
  /** the active state */
  readonly at: string;
  readonly isFollowing: boolean;
  readonly isOutline: boolean;
  readonly onDepth: (depth: number) => void;
  readonly onFollow: () => void;
  readonly onOutline: () => void;
};

const Bar = (props: BarProps) => (
  <div class="chart-bar" role="toolbar" aria-label={strings.view}>
    {props.depths.length > 1 &&
      props.depths.map((each) => (
        <Toggle
          key={each}
          isOn={each === props.depth}
          text={String(each)}
          name={strings.depth(each)}
          onClick={() => props.onDepth(each)}
        />
      ))}
    {!props.isOutline && (
      <Toggle isOn={props.isFollowing} text={strings.follow} onClick={props.onFollow} />
    )}
    <Toggle isOn={props.isOutline} text={strings.outline} onClick={props.onOutline} />
    <span class="chart-at">{props.at}</span>
  </div>
);

/** `running › working › thinking` */
const placeOf = (value: unknown): string =>
  activeLeaves(value)
    .map((path) => path.split('.').join(' › '))
    .join(', ');

const Toggle = (props: { isOn: boolean; text: string; name?: string; onClick: () => void }) => (
  <button
    type="button"
    aria-pressed={props.isOn}
    onClick={props.onClick}
    {...(props.name === undefined ? {} : { 'aria-label': props.name, title: props.name })}
  >
    {props.text}
  </button>
);

/** The size of the element, and a function that receives the element. */
function usePane(): [Size, (element: HTMLElement | null) => void] {
  const [pane, setPane] = useState<Size>({ width: 0, height: 0 });
  const observer = useRef<ResizeObserver>();
  const receive = useMemo(
    () => (element: HTMLElement | null) => {
      observer.current?.disconnect();
      if (!element) return;
      observer.current = new ResizeObserver(() =>
        setPane({ width: element.clientWidth, height: element.clientHeight }),
      );
      observer.current.observe(element);
    },
    [],
  );
  return [pane, receive];
}

/** The deepest level that is readable as a whole; none is: follow the actor. */
function firstMode(
  levels: readonly Level[],
  pane: Size,
  { isSmall = false, value }: ChartViewProps,
): Mode {
  const scaleOf = (level: Level) => {
    const { width, height } = fitting(level, pane.width, pane.height);
    return Math.min(pane.width / width, pane.height / height);
  };
  const [first] = levels;
  const isUnreadable = first !== undefined && pane.width > 0 && scaleOf(first) < FOLLOW_SCALE;
  if (value !== undefined && (isSmall || isUnreadable)) return 'follow';
  const readable = levels.filter((level) => scaleOf(level) >= OVERVIEW_SCALE);
  return readable.at(-1)?.depth ?? first?.depth ?? 1;
}

/** The level that shows the deepest active state, and nothing deeper. */
function activeDepth(levels: readonly Level[], value: unknown): number {
  const deepest = Math.max(1, ...activePaths(value).map(depthOf));
  return Math.min(deepest, levels.at(-1)?.depth ?? 1);
}
