/**
 * The view of tasks (MCP Apps, 2026-01-26): an HTML page without network, which a client shows
 * beside a call of an action and which draws the statechart of its task; and the tool by which the
 * page reads the task. web/task-app has the page.
 */
import type { ReadResourceResult, Tool } from '@modelcontextprotocol/server';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { APP_MIME_TYPE, type TaskChart } from '../../protocols/mcp.ts';
import { actionOfFunction } from '../../protocols/models/function-call.ts';
import { isFinal, taskAddress, TASKS_INDEX, type TaskRow } from '../../protocols/task.ts';
import type { System } from '../../runtime/index.ts';
import type { Edge } from '../edge/edge.ts';
import type { CallContext, McpCaller, McpTool, ToolView } from './catalog.ts';
import { textOf } from './errors.ts';

export const TASK_APP = 'ui://troupe/task.html';
/** Of the tools of actions. */
export const TASK_VIEW: ToolView = { resourceUri: TASK_APP };

const NOTHING: readonly string[] = [];
const POLICY = {
  connectDomains: NOTHING,
  resourceDomains: NOTHING,
  frameDomains: NOTHING,
  baseUriDomains: NOTHING,
};

export const readTaskApp = async (page: () => Promise<string>): Promise<ReadResourceResult> => ({
  contents: [
    {
      uri: TASK_APP,
      mimeType: APP_MIME_TYPE,
      text: await page(),
      _meta: { ui: { csp: POLICY, prefersBorder: true } },
    },
  ],
});

export const TASK_CHART = 'task__get_chart-v1';

/** Searches for running tasks at a time: each visits every task of its tenant. */
const SEARCHES_MAX = 4;
const RETRY_MS = 2_000;

export type TaskChartOptions = {
  readonly edge: Pick<Edge, 'task'>;
  readonly system: Pick<System, 'actors' | 'charts' | 'index'>;
};

type Published = NonNullable<Awaited<ReturnType<System['charts']['get']>>>;

const definition: Tool = {
  name: TASK_CHART,
  title: 'Chart of a task',
  description: 'The statechart of a task, where the task is in it, and its events',
  inputSchema: {
    type: 'object',
    properties: {
      task_id: { type: 'string', minLength: 1, maxLength: 128 },
      tool: {
        type: 'string',
        maxLength: 128,
        description: 'instead of a task: the one task of this tool that the caller has running',
      },
      chart: { type: 'string', maxLength: 128, description: 'the hash of a chart to leave out' },
    },
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
};

/** The tool that the page calls. */
export class TaskCharts {
  readonly #o: TaskChartOptions;
  #searches = 0;

  constructor(options: TaskChartOptions) {
    this.#o = options;
  }

  tool(caller: McpCaller): McpTool<CallContext> {
    return {
      definition,
      view: { visibility: ['app'] },
      call: async (args) => {
        const { task_id: id, tool, chart } = args;
        const found =
          typeof id === 'string' && id !== ''
            ? id
            : await this.#running(caller, typeof tool === 'string' ? tool : '');
        if (found === undefined) return { content: [textOf('this tool has no running task')] };
        const shown = await this.#chartOf(caller, found, chart);
        return { structuredContent: shown, content: [textOf(textIn(shown))] };
      },
    };
  }

  /** @throws TroupeError as `Edge.task` */
  async #chartOf(caller: McpCaller, id: string, known: unknown): Promise<TaskChart<Published>> {
    const { edge, system } = this.#o;
    const view = await edge.task(id, caller.credentials);
    const actor = await system.actors.get(taskAddress(view.tenant_id, view.task_id), {});
    const [type = '', version] = actor?.machine.split('@') ?? [];
    const chart = actor && (await system.charts.get(type, { version: Number(version) }));
    const { task_id, action, state, events, waiting, error } = view;
    return {
      task: {
        task_id,
        action,
        state,
        events,
        isFinal: isFinal(state),
        ...defined({ waiting: waiting?.prompt, error: error && `${error.code}: ${error.message}` }),
      },
      ...(actor ? { actor: { machine: actor.machine, state: actor.state } } : {}),
      ...(chart && chart.hash !== known ? { chart } : {}),
    };
  }

  /**
   * The one task of a tool that the caller has running: a page does not learn the task of a call
   * before the call has ended. Undefined where several run. @throws TroupeError
   * RATE_LIMIT_EXCEEDED
   */
  async #running({ tenant, sub }: McpCaller, tool: string): Promise<string | undefined> {
    const meant = actionOfFunction(tool);
    if (!meant) return undefined;
    if (this.#searches === SEARCHES_MAX)
      throw new TroupeError('RATE_LIMIT_EXCEEDED', 'too many tasks are being looked for', {
        retryAfterMs: RETRY_MS,
      });
    this.#searches++;
    try {
      const found: string[] = [];
      await this.#o.system.index.scan<TaskRow, 'view'>(
        TASKS_INDEX,
        tenant,
        { fields: ['view'] },
        ({ view }) => {
          const isMeant = view.action === meant.action && view.principal === sub;
          if (isMeant && !isFinal(view.state) && found.length < 2) found.push(view.task_id);
        },
      );
      return found.length === 1 ? found[0] : undefined;
    } finally {
      this.#searches--;
    }
  }
}

/** For clients without the page. */
const textIn = ({ task, actor }: TaskChart<unknown>): string =>
  [
    `task ${task.task_id} of ${task.action} is ${task.state}`,
    ...(actor ? [`state: ${JSON.stringify(actor.state)}`] : []),
    ...(task.waiting === undefined ? [] : [`it waits: ${task.waiting}`]),
    ...(task.error === undefined ? [] : [`error: ${task.error}`]),
    ...task.events.map(({ at, event }) => `${at} ${event}`),
  ].join('\n');
