/** A tool call as a card: its arguments, its output, its result; folded when long. */
import { useEffect, useState } from 'preact/hooks';
import { Icon } from '../icons.tsx';
import { strings } from '../strings.ts';
import { secondsBetween } from '../times.ts';
import { iconOf } from './tool-icons.ts';
import type { ToolStep } from './tool-steps.ts';

/** Output up to this length is shown unfolded. */
const SHORT = { characters: 160, lines: 1 };
/** While the call runs, this much of the end of its output is shown. */
const PROGRESS_LINES = 6;

const TITLES = {
  running: strings.toolRunning,
  asking: strings.toolAsks,
  done: strings.toolUsed,
  failed: strings.toolFailed,
  notRun: strings.toolNotRun,
};

export const ToolCard = ({ step }: { step: ToolStep }) => {
  const { state, name, about, args = '', progress = '', result = '' } = step;
  const running = state === 'running' || state === 'asking';
  const said = result === '' ? progress : result;
  const summary = (
    <>
      <Icon name={iconOf(name)} />
      <b>{TITLES[state](name)}</b>
      <code>{about}</code>
      <Duration step={step} running={running} />
    </>
  );
  // A single argument is shown in the summary, in full if it is short.
  const showArgs = args !== '' && (args.includes('\n  ', 4) || about?.endsWith('…'));
  if (said === '' && !showArgs) return <li class={`tool ${state}`}>{<span>{summary}</span>}</li>;
  const failed = state === 'failed' || state === 'notRun';
  return (
    <li class={`tool ${state}`}>
      <details open={failed || (state === 'done' && isShort(said))}>
        <summary>{summary}</summary>
        {showArgs && <Part title={strings.toolArguments} text={args} kind="args" />}
        {said !== '' && (
          <Part
            title={
              running || result === ''
                ? strings.toolProgress
                : failed
                  ? strings.toolError
                  : strings.toolResult
            }
            text={said}
            kind="said"
          />
        )}
      </details>
      {running && progress !== '' && <pre class="progress">{lastLines(progress)}</pre>}
    </li>
  );
};

const Part = (props: { title: string; text: string; kind: string }) => (
  <figure class={props.kind}>
    <figcaption>{props.title}</figcaption>
    <pre tabIndex={0}>{props.text}</pre>
  </figure>
);

/** The duration so far or in total; it counts by itself, so only this element is rendered again. */
const Duration = ({ step, running }: { step: ToolStep; running: boolean }) => {
  const [began] = useState(Date.now);
  const [now, setNow] = useState(began);
  useEffect(() => {
    if (!running) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [running]);
  const seconds = running ? (now - began) / 1_000 : secondsBetween(step.startedAt, step.endedAt);
  if (seconds === undefined || (running && seconds < 1)) return null;
  return (
    <time class="took" aria-live="off">
      {strings.seconds(seconds)}
    </time>
  );
};

const isShort = (text: string): boolean =>
  text.length <= SHORT.characters && text.split('\n').length <= SHORT.lines;

const lastLines = (text: string): string =>
  text.trimEnd().split('\n').slice(-PROGRESS_LINES).join('\n');
