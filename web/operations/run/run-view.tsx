/** Everything that a run caused: who did what, when, and what it cost. */
import type { RunTrace } from '../../../protocols/run-trace.ts';
import { linkTo } from '../../chat/agents-talk.ts';
import { Icon } from '../../icons.tsx';
import { linkToRoute, linkToView } from '../../routes.ts';
import { Failure } from '../list-view.tsx';
import { Part } from '../pane.tsx';
import { useReading } from '../reading.ts';
import { StatePill } from '../state-pill.tsx';
import { strings } from '../strings.ts';
import type { ViewProps } from '../view-props.ts';
import { Steps } from './steps.tsx';
import { durationText, timelineOf } from './geometry.ts';
import { TimelineView } from './timeline.tsx';

const own = strings.runs;

export const RunView = (props: ViewProps & { runId: string }) => {
  const { route, workspace, go, runId } = props;
  const reading = useReading(
    `run ${runId}`,
    () => workspace.operate<RunTrace>('trace', { run_id: runId }),
    everyMs,
  );
  const trace = reading.value;
  const step = route.params['step'];
  const selected = step === undefined ? undefined : Number(step);
  const onSelect = (at: number) =>
    go(linkToRoute({ view: 'runs', params: { ...route.params, step: String(at) } }), true);
  return (
    <main class="view sheet run" aria-label={own.title}>
      <p class="crumbs">
        <a href={linkToView('runs')}>
          <Icon name="back" /> {own.back}
        </a>
        <code>{runId}</code>
      </p>
      <Failure reading={reading} />
      {trace === undefined && reading.error === undefined && (
        <p class="loading">{strings.loading}</p>
      )}
      {trace && (
        <>
          <Summary trace={trace} />
          <Part title={own.timeline}>
            <TimelineView
              timeline={timelineOf(trace)}
              label={own.timeline}
              selected={selected}
              onSelect={onSelect}
            />
          </Part>
          <Approvals trace={trace} />
          <Part title={own.steps}>
            <Steps trace={trace} selected={selected} onSelect={onSelect} />
            <Left left={trace.left} />
          </Part>
        </>
      )}
    </main>
  );
};

/** Subagents may work on after the end of a run. */
const everyMs = (trace: RunTrace | undefined): number =>
  trace?.endedAt === undefined ? 5_000 : 30_000;

const Summary = ({ trace }: { trace: RunTrace }) => {
  const { status, startedAt, endedAt = Date.now(), steps, effects, sessionKey } = trace;
  const tokens = steps.reduce(
    (sum, step) => sum + (step.kind === 'model' ? (step.tokens ?? 0) : 0),
    0,
  );
  const prices = steps.flatMap((step) =>
    step.kind === 'model' && step.costUsd !== undefined ? [step.costUsd] : [],
  );
  const cost = prices.reduce((sum, price) => sum + price, 0);
  const retries = effects.filter(({ attempt }) => attempt > 1).length;
  const tools = steps.filter(({ kind }) => kind === 'tool').length;
  return (
    <div class="tiles">
      <div class="tile">
        <span>{strings.state}</span>
        <StatePill state={status} />
      </div>
      <div class="tile">
        <span>{own.duration}</span>
        <strong>{durationText(endedAt - startedAt)}</strong>
      </div>
      <div class="tile">
        <span>{own.tokens}</span>
        <strong>{strings.number(tokens)}</strong>
      </div>
      {prices.length > 0 && (
        <div class="tile">
          <span>{own.cost}</span>
          <strong>{strings.usd(cost)}</strong>
        </div>
      )}
      {retries > 0 && (
        <div class="tile">
          <span>{own.retries}</span>
          <strong>{retries}</strong>
        </div>
      )}
      <div class="tile">
        <span>{own.tools}</span>
        <strong>{tools}</strong>
      </div>
      <div class="tile">
        <span>{strings.session}</span>
        <a href={linkTo(sessionKey)}>{strings.openConversation}</a>
      </div>
    </div>
  );
};

/** What it asked, and who decided. */
const Approvals = ({ trace: { approvals, startedAt } }: { trace: RunTrace }) =>
  approvals.length === 0 ? null : (
    <Part title={strings.approvals.title}>
      <ul class="plain-list">
        {approvals.map(({ id, at, title, state, decision, decidedBy, decidedAt }) => (
          <li key={id}>
            <StatePill state={state} />{' '}
            <a href={linkToView('approvals', { item: id })}>
              <code>{title}</code>
            </a>{' '}
            <span class="muted">
              {durationText(Math.max(0, at - startedAt))}
              {decidedBy !== undefined &&
                ` · ${own.decidedBy(strings.approvals.options[decision ?? ''] ?? decision ?? state, decidedBy, durationText((decidedAt ?? at) - at))}`}
            </span>
          </li>
        ))}
      </ul>
    </Part>
  );

const Left = ({ left }: { left: RunTrace['left'] }) => (
  <>
    {left.steps > 0 && <p class="muted">{own.left.steps(left.steps)}</p>}
    {left.deeper > 0 && <p class="muted">{own.left.deeper(left.deeper)}</p>}
    {left.sessions.length > 0 && <p class="muted">{own.left.sessions(left.sessions.join(', '))}</p>}
  </>
);
