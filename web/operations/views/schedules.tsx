/** Schedules: jobs that send a message to an agent at later times. */
import { useState } from 'preact/hooks';
import type { ScheduleFire, ScheduleRow, When } from '../../../protocols/schedule.ts';
import { linkTo } from '../../chat/agents-talk.ts';
import { linkToView } from '../../routes.ts';
import { timeAgo } from '../../times.ts';
import { Action } from '../action.tsx';
import { stateColumn } from '../columns.tsx';
import { Failure, type DetailProps, type ListDefinition } from '../list-view.tsx';
import { Facts, Part, Text, Time } from '../pane.tsx';
import { useReading } from '../reading.ts';
import { StatePill } from '../state-pill.tsx';
import { strings } from '../strings.ts';

const own = strings.schedules;

const whenText = (when: When): string => {
  if (when.kind === 'at') return own.at(strings.time(when.at));
  if (when.kind === 'every') return own.every(strings.number(when.everyMs / 1_000));
  return own.cron(when.expression, when.timeZone ?? 'UTC');
};

export const schedules: ListDefinition<ScheduleRow> = {
  icon: 'schedules',
  title: own.title,
  read: async ({ workspace }) =>
    (await workspace.operate<{ schedules: readonly ScheduleRow[] }>('schedules.list')).schedules,
  idOf: ({ jobId }) => jobId,
  titleOf: ({ name }) => name,
  columns: [
    { name: strings.name, text: ({ name }) => name, width: 'minmax(0, 2fr)' },
    { name: own.when, text: ({ when }) => whenText(when), width: 'minmax(0, 1.5fr)' },
    { name: strings.agent, text: ({ agentId }) => agentId },
    {
      name: own.next,
      text: ({ nextAt }) => (nextAt === undefined ? '' : strings.time(nextAt)),
      order: ({ nextAt = Infinity }) => nextAt,
      width: 'minmax(0, 1.5fr)',
    },
    stateColumn(({ state }) => state),
  ],
  empty: own.empty,
  tools: (more) => <NewSchedule more={more} />,
  details: (row, more) => <Details row={row} more={more} />,
};

const Details = ({ row, more }: { row: ScheduleRow; more: DetailProps }) => {
  const { workspace, again } = more;
  const { jobId: id } = row;
  const reading = useReading(`fires ${id}`, () =>
    workspace.operate<{ runs: readonly ScheduleFire[] }>('schedules.runs', { id }),
  );
  const act = (name: string) => () => workspace.operate(name, { id });
  return (
    <>
      <StatePill state={row.state} />
      <Text text={row.text} />
      <div class="buttons">
        <Action
          label={own.runNow}
          kind="primary"
          run={act('schedules.run')}
          onDone={() => {
            again();
            reading.again();
          }}
        />
        <Action
          label={own.remove}
          kind="danger"
          asks="sure"
          run={act('schedules.remove')}
          onDone={again}
        />
        <a class="button" href={linkTo(row.sessionKey)}>
          {strings.openConversation}
        </a>
      </div>
      <Part title={strings.details}>
        <Facts
          facts={[
            [own.when, whenText(row.when)],
            [own.next, <Time at={row.nextAt} />],
            [strings.agent, row.agentId],
            [own.fires, strings.number(row.fires)],
            [own.skipped, row.skipped === 0 ? '' : strings.number(row.skipped)],
          ]}
        />
      </Part>
      <Part title={own.runs}>
        <Failure reading={reading} />
        {reading.value?.runs.length === 0 && <p class="muted">{own.noRuns}</p>}
        <ul class="plain-list">
          {reading.value?.runs.map((fire) => (
            <Fire key={fire.runId} fire={fire} />
          ))}
        </ul>
      </Part>
    </>
  );
};

const Fire = ({ fire }: { fire: ScheduleFire }) => (
  <li>
    <StatePill state={fire.status} /> {timeAgo(fire.firedAt)}{' '}
    <a href={linkToView('runs', { item: fire.runId })}>{strings.showRun}</a>
    {(fire.error?.message ?? fire.text) && (
      <div class="muted">{fire.error?.message ?? fire.text}</div>
    )}
  </li>
);

const MINUTE_MS = 60_000;

/** The most frequent case: repeatedly, to the default agent. The others: `troupe cron add`. */
const NewSchedule = ({ more }: { more: DetailProps }) => {
  const [isOpen, setOpen] = useState(false);
  const [text, setText] = useState('');
  const [minutes, setMinutes] = useState('60');
  if (!isOpen)
    return (
      <button type="button" onClick={() => setOpen(true)}>
        {own.add}
      </button>
    );
  const job = {
    agentId: more.view.sessions.defaultAgentId,
    text,
    when: { kind: 'every', everyMs: Math.max(1, Number(minutes)) * MINUTE_MS },
  };
  return (
    <div class="new-row">
      <label>
        {own.addText}
        <input autoFocus value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <label>
        {own.addEvery}
        <input
          type="number"
          min={1}
          value={minutes}
          onInput={(event) => setMinutes(event.currentTarget.value)}
        />
      </label>
      <div class="buttons">
        <Action
          label={own.create}
          kind="primary"
          run={async () => {
            if (text.trim() !== '') await more.workspace.operate('schedules.set', { job });
          }}
          onDone={() => {
            setOpen(false);
            setText('');
            more.again();
          }}
        />
        <button type="button" onClick={() => setOpen(false)}>
          {strings.cancel}
        </button>
      </div>
    </div>
  );
};
