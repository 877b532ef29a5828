/** A task of ours as the Agent2Agent protocol has it. Pure. */
import {
  type Artifact,
  type Message,
  type Part,
  Role,
  type StreamResponse,
  type Task,
  TaskState,
  type TaskStatus,
} from '@a2a-js/sdk';
import { defined } from '../../protocols/defined.ts';
import { SEND_MESSAGE } from '../../protocols/agent-message.ts';
import { changedAt } from '../../protocols/agent2agent.ts';
import { isFinal, type TaskEvent, type TaskView, type Waiting } from '../../protocols/task.ts';

/** Key of our own fields in the metadata of tasks and events. */
const TASK_METADATA = 'troupe/task';
const RESULT = 'result';
const LINKS = 'links';

/** Whether the task waits for something that its caller can give; a decision is an operator's. */
export const waitsForCaller = ({ waiting }: WaitState): boolean =>
  waiting !== undefined && !isOperators(waiting);
type WaitState = { readonly waiting?: Pick<Waiting, 'for'> };
/** The task continues to work, seen from outside, until an operator has decided. */
export const isOperators = ({ for: kind }: Pick<Waiting, 'for'>): boolean => kind === 'decision';

/** The task with its artifacts, which it has when it has ended. */
export const taskOf = (view: TaskView, history: Message[] = []): Task => ({
  id: view.task_id,
  contextId: contextOf(view),
  status: statusOf(view),
  artifacts: artifactsOf(view),
  history,
  metadata: metadataOf(view),
});

export const contextOf = ({ context_id, task_id }: TaskView): string => context_id ?? task_id;

/** A compensated task was cancelled, or has failed. While its work is undone it is WORKING. */
export function stateOf(view: WaitState & Pick<TaskView, 'state' | 'outcome'>): TaskState {
  const { state, outcome } = view;
  switch (state) {
    case 'ACKED':
      return TaskState.TASK_STATE_SUBMITTED;
    case 'RUNNING':
    case 'UNKNOWN':
      return waitsForCaller(view)
        ? TaskState.TASK_STATE_INPUT_REQUIRED
        : TaskState.TASK_STATE_WORKING;
    case 'SUCCEEDED':
      return TaskState.TASK_STATE_COMPLETED;
    case 'CANCELLED':
      return TaskState.TASK_STATE_CANCELED;
    case 'COMPENSATED':
      return outcome === 'CANCELLED' ? TaskState.TASK_STATE_CANCELED : TaskState.TASK_STATE_FAILED;
    case 'FAILED':
    case 'EXPIRED':
      return TaskState.TASK_STATE_FAILED;
  }
}

const statusOf = (view: TaskView): TaskStatus => {
  const text = textOf(view);
  return {
    state: stateOf(view),
    message: text === undefined ? undefined : statusMessage(view, text),
    timestamp: changedAt(view),
  };
};

function textOf({ state, waiting, error, outcome }: TaskView): string | undefined {
  if (!isFinal(state)) {
    if (waiting === undefined) return undefined;
    return isOperators(waiting) ? `waits for an operator: ${waiting.prompt}` : waiting.prompt;
  }
  if (error) return error.message;
  if (state !== 'COMPENSATED') return undefined;
  return `its work was undone after it was ${outcome === 'CANCELLED' ? 'cancelled' : 'not completed'}`;
}

const statusMessage = (view: TaskView, prompt: string): Message => {
  const schema = waitsForCaller(view) ? view.waiting?.schema : undefined;
  const since = changedAt(view);
  return questionOf(view, { prompt, since, events: view.events.length, ...defined({ schema }) });
};

type Question = Pick<Waiting, 'prompt' | 'schema' | 'since'> & {
  /** of the task when it asked */
  readonly events: number;
};

/** The schema of a wanted input is a data part next to its prompt. */
export const questionOf = (
  view: TaskView,
  { prompt, schema, since, events }: Question,
): Message => ({
  messageId: `${view.task_id}.${events}.${Date.parse(since)}`,
  contextId: contextOf(view),
  taskId: view.task_id,
  role: Role.ROLE_AGENT,
  parts: [
    part({ $case: 'text', value: prompt }, 'text/plain'),
    ...(schema ? [part({ $case: 'data', value: { schema } }, 'application/json')] : []),
  ],
  metadata: undefined,
  extensions: [],
  referenceTaskIds: [],
});

/** Our state, which has more values, and the code of an error. */
const metadataOf = ({ state, action, action_version, attempt, compensating, error }: TaskView) => ({
  [TASK_METADATA]: {
    state,
    action,
    action_version,
    attempt,
    ...(compensating ? { compensating } : {}),
    ...(error ? { error } : {}),
  },
});

export function artifactsOf(view: TaskView): Artifact[] {
  if (view.state !== 'SUCCEEDED') return [];
  const { result, resource_links: links = [] } = view;
  const artifacts: Artifact[] = [];
  if (result !== undefined && result !== null) artifacts.push(resultOf(view));
  if (links.length > 0) {
    const parts = links.map((link) => ({
      ...part({ $case: 'url', value: String(link['uri']) }, textIn(link, 'mimeType')),
      filename: textIn(link, 'name'),
    }));
    artifacts.push(artifact(LINKS, parts));
  }
  return artifacts;
}

function resultOf({ action, result }: TaskView): Artifact {
  if (typeof result === 'string')
    return artifact(RESULT, [part({ $case: 'text', value: result }, 'text/plain')]);
  const { text, ...rest } = result as Record<string, unknown>;
  if (action === SEND_MESSAGE && typeof text === 'string')
    return artifact(RESULT, [part({ $case: 'text', value: text }, 'text/markdown')], rest);
  return artifact(RESULT, [part({ $case: 'data', value: result }, 'application/json')]);
}

const textIn = (link: Readonly<Record<string, unknown>>, name: string): string =>
  typeof link[name] === 'string' ? link[name] : '';

export const part = (content: NonNullable<Part['content']>, mediaType: string): Part => ({
  content,
  metadata: undefined,
  filename: '',
  mediaType,
});

const artifact = (id: string, parts: Part[], metadata?: Record<string, unknown>): Artifact => ({
  artifactId: id,
  name: id,
  description: '',
  parts,
  metadata,
  extensions: [],
});

// ---- streams

export const snapshotOf = (view: TaskView, history?: Message[]): StreamResponse => ({
  payload: { $case: 'task', value: taskOf(view, history) },
});

/** The status of the task now. */
export const statusUpdate = (view: TaskView): StreamResponse => ({
  payload: {
    $case: 'statusUpdate',
    value: {
      taskId: view.task_id,
      contextId: contextOf(view),
      status: statusOf(view),
      metadata: metadataOf(view),
    },
  },
});

/** The updates of an event of the task: its artifacts before its end. */
export function updatesOf({ n, task }: Pick<TaskEvent, 'n' | 'task'>): readonly StreamResponse[] {
  const entry = task.events[n - 1];
  if (n < task.events.length && entry) {
    // The task was in this state then, and has no result or error of a later one.
    const { result: _, error: __, finished_at: ___, waiting: ____, ...rest } = task;
    return [statusUpdate({ ...rest, state: entry.state, events: task.events.slice(0, n) })];
  }
  const { task_id: taskId } = task;
  const artifacts = artifactsOf(task).map(
    (one): StreamResponse => ({
      payload: {
        $case: 'artifactUpdate',
        value: {
          taskId,
          contextId: contextOf(task),
          artifact: one,
          append: false,
          lastChunk: true,
          metadata: undefined,
        },
      },
    }),
  );
  return [...artifacts, statusUpdate(task)];
}
