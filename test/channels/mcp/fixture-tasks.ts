/** Tasks of the fixture server, in memory: those of the product are durable. */
import { randomUUID } from 'node:crypto';
import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server';
import {
  type ClientFeatures,
  type McpTask,
  type McpTasks,
  type McpTool,
  type ToolAnswer,
} from '../../../channels/mcp/catalog.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { TASKS_EXTENSION } from '../../../protocols/mcp.ts';
import { text } from './fixture-contents.ts';
import { askFor, confirmForm, elicit, nameForm } from './fixture-inputs.ts';

type End = Partial<McpTask> & Pick<McpTask, 'status'>;

const isOver = ({ status }: McpTask): boolean =>
  status !== 'working' && status !== 'input_required';

export class FixtureTasks implements McpTasks {
  readonly #tasks = new Map<string, McpTask>();
  readonly #timers = new Set<NodeJS.Timeout>();
  /** ids of all tasks that were asked about, in order */
  readonly asked: string[] = [];

  /** ids of all tasks that were created, in order */
  get created(): readonly string[] {
    return [...this.#tasks.keys()];
  }

  /** A task that ends after this time. */
  begin(afterMs: number, end: End): ToolAnswer {
    const task = this.#add({ status: 'working' });
    if (afterMs === 0) this.#change(task.taskId, end);
    else this.#after(afterMs, () => this.#change(task.taskId, end));
    return { ...task, resultType: 'task' };
  }

  /** A task that completes when each of these inputs is given. */
  waitFor(inputRequests: Readonly<Record<string, object>>): ToolAnswer {
    return { ...this.#add({ status: 'input_required', inputRequests }), resultType: 'task' };
  }

  get = (taskId: string): Promise<McpTask> =>
    Promise.resolve().then(() => {
      this.asked.push(taskId);
      return this.#find(taskId);
    });

  update = async (taskId: string, given: Readonly<Record<string, unknown>>): Promise<void> => {
    const { inputRequests = {}, status } = await this.get(taskId);
    if (status !== 'input_required') return;
    const left = Object.entries(inputRequests).filter(([key]) => given[key] === undefined);
    this.#change(
      taskId,
      left.length > 0
        ? { status: 'input_required', inputRequests: Object.fromEntries(left) }
        : { status: 'completed', result: { content: [text('all inputs are given')] } },
    );
  };

  cancel = async (taskId: string): Promise<void> => {
    await this.get(taskId);
    this.#change(taskId, { status: 'cancelled' });
  };

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #add(first: End): McpTask {
    const createdAt = new Date().toISOString();
    const task: McpTask = {
      taskId: randomUUID(),
      createdAt,
      lastUpdatedAt: createdAt,
      ttlMs: 600_000,
      pollIntervalMs: 100,
      ...first,
    };
    this.#tasks.set(task.taskId, task);
    return task;
  }

  /** A task that has ended stays as it is. */
  #change(taskId: string, to: End): void {
    const task = this.#find(taskId);
    if (isOver(task)) return;
    const { inputRequests: _answered, ...kept } = task;
    this.#tasks.set(taskId, { ...kept, ...to, lastUpdatedAt: new Date().toISOString() });
  }

  #find(taskId: string): McpTask {
    const task = this.#tasks.get(taskId);
    if (task) return task;
    throw new TroupeError('NOT_FOUND', `there is no task ${taskId}`);
  }

  #after(ms: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, ms);
    this.#timers.add(timer);
  }
}

const answered = (value: string, isError = false): CallToolResult => ({
  content: [text(value)],
  ...(isError ? { isError } : {}),
});

const assertTasks = ({ tasks }: ClientFeatures): void => {
  if (tasks) return;
  throw new ProtocolError(
    ProtocolErrorCode.MissingRequiredClientCapability,
    `this tool needs the client capability ${TASKS_EXTENSION}`,
    { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } },
  );
};

const tool = (
  name: string,
  call: McpTool['call'],
  properties: Readonly<Record<string, { readonly type: string }>> = {},
): McpTool => ({
  definition: {
    name,
    description: `${name} of the tasks scenarios`,
    inputSchema: { type: 'object', properties },
  },
  call,
});

/** The tools of the scenarios `tasks-*`. */
export const taskTools = (tasks: FixtureTasks): readonly McpTool[] => [
  tool('confirm_delete', (_args, _context, client) => {
    if (!client.tasks) return Promise.resolve(answered('deleting needs a confirmation'));
    const request = elicit('Delete this file?', confirmForm('confirm'));
    return Promise.resolve(tasks.waitFor({ [randomUUID()]: request }));
  }),
  tool('failing_job', (_args, _context, client) => {
    assertTasks(client);
    const result = answered('this job always fails', true);
    return Promise.resolve(tasks.begin(200, { status: 'completed', result }));
  }),
  tool('greet', ({ name }) => Promise.resolve(answered(`Hello, ${String(name)}!`)), {
    name: { type: 'string' },
  }),
  tool('multi_input', (_args, _context, client) => {
    assertTasks(client);
    const requests = ['first', 'second'].map((which) => [
      randomUUID(),
      elicit(`The ${which} name?`, nameForm()),
    ]);
    return Promise.resolve(tasks.waitFor(Object.fromEntries(requests)));
  }),
  tool('protocol_error_job', (_args, _context, client) => {
    assertTasks(client);
    const error = { code: -32_603, message: 'the job failed internally' };
    return Promise.resolve(tasks.begin(0, { status: 'failed', error }));
  }),
  tool(
    'slow_compute',
    ({ seconds }, _context, client) => {
      const result = answered('computed');
      return Promise.resolve(
        client.tasks
          ? tasks.begin(Number(seconds) * 1_000, { status: 'completed', result })
          : result,
      );
    },
    { seconds: { type: 'number' }, label: { type: 'string' } },
  ),
  tool('test_tool_with_task', (_args, { mcpReq }, client) => {
    assertTasks(client);
    const given = mcpReq.inputResponses?.['user_name'] as { content?: { name?: string } };
    const name = given?.content?.name;
    if (name === undefined)
      return Promise.resolve(askFor({ user_name: ['What is your name?', nameForm()] }));
    return Promise.resolve(
      tasks.begin(0, { status: 'completed', result: answered(`Hello, ${name}!`) }),
    );
  }),
];
