/** Tasks: subagents, scheduled runs, and tasks that programs send. */
import type { TaskSummary } from '../../../protocols/gateway/index.ts';
import type { TaskView } from '../../../protocols/task.ts';
import { linkTo } from '../../chat/agents-talk.ts';
import { linkToView } from '../../routes.ts';
import { Action } from '../action.tsx';
import { stateChoice, stateColumn, timeColumn } from '../columns.tsx';
import { Failure, type DetailProps, type ListDefinition } from '../list-view.tsx';
import { Facts, Part, Text, Time } from '../pane.tsx';
import { useReading } from '../reading.ts';
import { StatePill } from '../state-pill.tsx';
import { strings } from '../strings.ts';
import { PROTOCOLS } from './called-servers.tsx';

const own = strings.tasks;
const STATES = ['queued', 'running', 'completed', 'failed', 'cancelled', 'timed_out'];
const LISTED_MAX = 500;

export const tasks: ListDefinition<TaskSummary> = {
  icon: 'tasks',
  title: own.title,
  choices: [stateChoice('status', STATES)],
  read: async ({ workspace }, { status }) =>
    (
      await workspace.request<{ tasks: readonly TaskSummary[] }>('tasks.list', {
        limit: LISTED_MAX,
        ...(status === undefined ? {} : { status }),
      })
    ).tasks,
  idOf: ({ taskId }) => taskId,
  titleOf: ({ title, taskId }) => title ?? taskId,
  columns: [
    { name: own.task, text: ({ title, taskId }) => title ?? taskId, width: 'minmax(0, 3fr)' },
    { name: own.kind, text: ({ runtime }) => own.kinds[runtime] ?? runtime, width: '7rem' },
    { name: strings.agent, text: ({ agentId = '' }) => agentId },
    { name: strings.approvals.by, text: ({ ownerKey = '' }) => ownerKey },
    timeColumn(own.created, ({ createdAt }) => createdAt),
    stateColumn(({ status }) => status),
  ],
  empty: own.empty,
  details: (row, more) => <Details row={row} more={more} />,
};

const Details = ({ row, more }: { row: TaskSummary; more: DetailProps }) => {
  const { workspace, again } = more;
  const { taskId } = row;
  const reading = useReading(`task ${taskId}`, () =>
    workspace.request<{ task: TaskSummary }>('tasks.get', { taskId }),
  );
  const task = { ...row, ...reading.value?.task };
  const session = task.childSessionKey ?? task.sessionKey;
  const isOpen = task.status === 'queued' || task.status === 'running';
  return (
    <>
      <StatePill state={task.status} />
      {task.error && <p class="failed">{task.error}</p>}
      <Decision taskId={taskId} more={more} />
      <div class="buttons">
        {task.runId && (
          <a class="button" href={linkToView('runs', { item: task.runId })}>
            {strings.showRun}
          </a>
        )}
        {session && (
          <a class="button" href={linkTo(session)}>
            {strings.openConversation}
          </a>
        )}
        {isOpen && (
          <Action
            label={own.stop}
            kind="danger"
            asks="sure"
            run={() => workspace.request('tasks.cancel', { taskId })}
            onDone={again}
          />
        )}
      </div>
      <Failure reading={reading} />
      {task.prompt && (
        <Part title={own.prompt}>
          <Text text={task.prompt} />
        </Part>
      )}
      {(task.result ?? task.terminalSummary ?? task.progressSummary) && (
        <Part title={isOpen ? own.progress : strings.result}>
          <Text text={task.result ?? task.terminalSummary ?? task.progressSummary ?? ''} />
        </Part>
      )}
      <About task={task} />
    </>
  );
};

/** An envelope is the protocol of troupe itself. */
const protocolOf = ({ sourceId = 'envelope' }: TaskSummary): string =>
  PROTOCOLS[sourceId] ?? sourceId;

const About = ({ task }: { task: TaskSummary }) => (
  <Part title={strings.details}>
    <Facts
      facts={[
        [own.kind, own.kinds[task.runtime] ?? task.runtime],
        [strings.agent, task.agentId],
        [strings.approvals.by, task.ownerKey],
        [own.protocol, task.runtime === 'a2a' && protocolOf(task)],
        [own.created, <Time at={task.createdAt} />],
        [strings.started, task.startedAt && <Time at={task.startedAt} />],
        [strings.ended, task.endedAt && <Time at={task.endedAt} />],
        [own.task, task.taskId],
      ]}
    />
  </Part>
);

const DECISIONS = ['again', 'done', 'failed', 'accept'];

/** Of a task whose work was lost: an operator decides its outcome. */
const Decision = ({ taskId, more }: { taskId: string; more: DetailProps }) => {
  const { workspace, again } = more;
  const reading = useReading('decisions', () =>
    workspace.operate<{ tasks: readonly TaskView[] }>('decisions.list'),
  );
  const waiting = reading.value?.tasks.find((task) => task.task_id === taskId)?.waiting;
  if (waiting === undefined) return null;
  return (
    <div class="approval" role="group" aria-label={own.decisionNeeded}>
      <p>{own.decisionNeeded}</p>
      <Text text={waiting.prompt} />
      <div class="buttons">
        {DECISIONS.map((decision) => (
          <Action
            key={decision}
            label={own.decisions[decision] ?? decision}
            asks="why"
            run={(why) => workspace.operate('decisions.answer', { task_id: taskId, decision, why })}
            onDone={() => {
              reading.again();
              again();
            }}
          />
        ))}
      </div>
    </div>
  );
};
