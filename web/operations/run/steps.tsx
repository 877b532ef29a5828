/** The steps of a run as a list, in order: time, participant, what happened. */
import { useEffect, useRef } from 'preact/hooks';
import type { RunTrace, TraceStep } from '../../../protocols/run-trace.ts';
import { Icon, type IconName } from '../../icons.tsx';
import { strings } from '../strings.ts';
import { toneOf, wordOf } from '../tones.ts';
import { durationText } from './geometry.ts';
import { Pill } from '../pane.tsx';

const own = strings.runs;

const ICONS: Readonly<Record<TraceStep['kind'], IconName>> = {
  message: 'chat',
  model: 'agents',
  tool: 'tool',
  end: 'check',
  result: 'check',
  report: 'file',
  refused: 'warning',
};

export const Steps = (props: {
  trace: RunTrace;
  selected: number | undefined;
  onSelect: (at: number) => void;
}) => {
  const { trace, selected, onSelect } = props;
  const nameOf = (id: string) => {
    const part = trace.participants.find((each) => each.id === id);
    return part?.label ?? part?.name ?? id;
  };
  return (
    <ol class="steps">
      {trace.steps.map((step, at) => (
        <StepRow
          key={at}
          step={step}
          startedAt={trace.startedAt}
          isSelected={at === selected}
          nameOf={nameOf}
          onSelect={() => onSelect(at)}
        />
      ))}
    </ol>
  );
};

const StepRow = (props: {
  step: TraceStep;
  startedAt: number;
  isSelected: boolean;
  nameOf: (id: string) => string;
  onSelect: () => void;
}) => {
  const { step, startedAt, isSelected, nameOf, onSelect } = props;
  const row = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isSelected) row.current?.scrollIntoView({ block: 'nearest' });
  }, [isSelected]);
  const lane = step.kind === 'message' || step.kind === 'result' ? step.from : step.in;
  return (
    <li ref={row} class={isSelected ? 'selected' : ''}>
      <button type="button" aria-pressed={isSelected} onClick={onSelect}>
        <Icon name={ICONS[step.kind]} />
        <span class="when">{durationText(Math.max(0, step.at - startedAt))}</span>
        <span class="who">{nameOf(lane)}</span>
        <span class="what">
          <b>{own.kinds[step.kind]}</b> <What step={step} nameOf={nameOf} />
        </span>
      </button>
    </li>
  );
};

const What = ({ step, nameOf }: { step: TraceStep; nameOf: (id: string) => string }) => {
  switch (step.kind) {
    case 'message':
      return (
        <>
          {own.to(nameOf(step.to))}: {step.text}
        </>
      );
    case 'model':
      return (
        <>
          <code>{step.model}</code>
          {step.tokens !== undefined && ` · ${strings.number(step.tokens)} ${own.tokens}`}
          {step.costUsd !== undefined && ` · ${strings.usd(step.costUsd)}`}
          {step.calls.length > 0 && ` · ${own.calls(step.calls.join(', '))}`}
        </>
      );
    case 'tool':
      return (
        <>
          <code>{step.name}</code> {step.failed && <Pill tone="failed" text={own.failedTool} />}{' '}
          {step.text}
        </>
      );
    case 'end':
      return (
        <>
          {step.status !== 'ok' && <Pill tone={toneOf(step.status)} text={wordOf(step.status)} />}{' '}
          {step.text}
        </>
      );
    case 'result':
      return (
        <>
          <Pill tone={toneOf(step.outcome)} text={wordOf(step.outcome)} /> {own.to(nameOf(step.to))}
          : {step.text}
        </>
      );
    case 'report':
      return <>{own.reads(step.results)}</>;
    case 'refused':
      return (
        <>
          {step.text} <span class="failed">{step.why}</span>
        </>
      );
  }
};
