/**
 * The view of a task for MCP clients: one page without network, in a frame of the client. It draws
 * the statechart of the task with the state that is active, and follows it until it has ended.
 *
 * Boundary: everything that it shows came through the client, and is shown as text.
 */
import { render } from 'preact';
import type { PublishedChart } from '../../charts/published.ts';
import type { TaskChart } from '../../protocols/mcp.ts';
import { ChartView } from '../charts/chart-view.tsx';
import { language } from '../charts/strings.ts';
import { type Followed, FollowTask } from './follow-task.ts';
import { Host } from './host.ts';
import { addTaskStyle, applyLooks, type HostContext } from './looks.ts';
import { strings } from './strings.ts';

const TOOL = 'task__get_chart-v1';
const REVISION = '2026-01-26';

type CallResult = {
  readonly isError?: boolean;
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly content?: readonly { readonly text?: string }[];
  readonly taskId?: unknown;
  readonly _meta?: Readonly<Record<string, { readonly task_id?: unknown } | undefined>>;
};

const TaskPage = ({ shown, before, trouble, note }: Followed & { note: string }) => (
  <>
    {shown ? <Task {...{ shown, before }} /> : <p class="muted">{note}</p>}
    {trouble !== undefined && (
      <p role="alert">
        {strings.cannotRead}: {trouble}
      </p>
    )}
  </>
);

const Task = ({ shown, before }: { shown: TaskChart<PublishedChart>; before: unknown }) => {
  const { task, actor, chart } = shown;
  const turn = actor && before !== undefined ? { before, state: actor.state } : undefined;
  return (
    <>
      <header>
        <h1>{task.action}</h1>
        <span class="task-state">{task.state}</span>
        <code class="muted">{task.task_id}</code>
      </header>
      {chart ? (
        <div class="task-chart">
          <ChartView published={chart} value={actor?.state} turn={turn} isSmall />
        </div>
      ) : (
        <p class="muted">{actor ? JSON.stringify(actor.state) : strings.gone}</p>
      )}
      {task.waiting !== undefined && (
        <p>
          {strings.question}: {task.waiting}
        </p>
      )}
      {task.error !== undefined && <p role="alert">{task.error}</p>}
      <h2>{strings.history}</h2>
      <ol>
        {task.events.map(({ n, event, at, state }) => (
          <li key={n}>
            {new Date(at).toLocaleTimeString(language)} {event}: {state}
          </li>
        ))}
      </ol>
    </>
  );
};

let note = strings.waits;
let followed: Followed = {};
const show = (known = followed): void => {
  followed = known;
  render(<TaskPage {...known} note={note} />, document.querySelector('main')!);
};

const host = new Host((method, params) => {
  if (method === 'ui/notifications/tool-result') follow(params as CallResult);
  if (method === 'ui/notifications/host-context-changed') applyLooks(params as HostContext);
  if (method === 'ui/resource-teardown') task.end();
  return method === 'ping' || method === 'ui/resource-teardown' ? {} : undefined;
});

const task = new FollowTask(async (args) => {
  const answer = await host.request('tools/call', { name: TOOL, arguments: args });
  const { isError, structuredContent, content } = answer as CallResult;
  if (isError) throw new Error(content?.[0]?.text ?? '');
  return structuredContent?.['task'] === undefined
    ? undefined
    : (structuredContent as TaskChart<PublishedChart>);
}, show);

/** Of a result that names its task: of an ended one, of one that continues, or of a handle. */
function follow({ structuredContent, taskId, _meta: meta }: CallResult): void {
  const id = meta?.['troupe/task']?.task_id ?? structuredContent?.['task_id'] ?? taskId;
  if (typeof id === 'string') task.follow(id);
}

/** Clients fit the frame to its contents. */
function reportSize(): void {
  const observer = new ResizeObserver(() => {
    const { width, height } = document.documentElement.getBoundingClientRect();
    const size = { width: Math.ceil(width), height: Math.ceil(height) };
    host.notify('ui/notifications/size-changed', size);
  });
  observer.observe(document.documentElement);
}

addTaskStyle();
document.documentElement.lang = language;
show();
const { hostContext = {}, hostCapabilities = {} } = (await host.request('ui/initialize', {
  protocolVersion: REVISION,
  appInfo: { name: 'troupe task', version: '1' },
  appCapabilities: { availableDisplayModes: ['inline', 'fullscreen'] },
})) as { hostContext?: HostContext; hostCapabilities?: { serverTools?: object } };
applyLooks(hostContext);
host.notify('ui/notifications/initialized', {});
reportSize();
const tool = hostContext.toolInfo?.tool?.name;
if (!hostCapabilities.serverTools) note = strings.noCalls;
else if (typeof tool === 'string') task.search(tool);
show();
