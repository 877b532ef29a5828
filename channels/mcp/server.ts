/**
 * A catalog as an MCP server of the official SDK, which speaks the protocol of every revision. The
 * low-level `Server` is used, because a server is made for each request: lists are sent as the
 * catalog has them, and arguments are checked by what executes the tool.
 */
import {
  CLIENT_CAPABILITIES_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server';
import { ERRORS, TroupeError } from '../../protocols/errors.ts';
import {
  APP_MIME_TYPE,
  APPS_EXTENSION,
  SKILLS_EXTENSION,
  TASKS_EXTENSION,
} from '../../protocols/mcp.ts';
import {
  type CallContext,
  type Catalog,
  type ClientFeatures,
  type McpTask,
  type McpTasks,
  type McpTool,
  type ToolAnswer,
} from './catalog.ts';
import { failedCall } from './errors.ts';
import { serveSkills, textParams } from './extension-methods.ts';
import { isObject } from '../../protocols/is-object.ts';

/** How long clients may cache lists; they also depend on the caller. */
const LIST_CACHE = { ttlMs: 60_000, cacheScope: 'private' } as const;
const COMPLETIONS_MAX = 100;

export type ServerInfo = { readonly name: string; readonly version: string };

/** What clients may cache. */
const CACHE_HINTS = {
  'server/discover': LIST_CACHE,
  'tools/list': LIST_CACHE,
  'prompts/list': LIST_CACHE,
  'resources/list': { ttlMs: 0, cacheScope: 'private' },
  'resources/templates/list': LIST_CACHE,
  'resources/read': { ttlMs: 0, cacheScope: 'private' },
} as const;

/**
 * @param methods those of tools are enough for the request of a tool: a server is made for each
 *   request, and most of its cost is its methods. It declares the same capabilities.
 */
export function mcpServer(
  catalog: Catalog,
  info: ServerInfo,
  methods: 'all' | 'tools' = 'all',
): Server {
  const { instructions, resources, prompts, complete, tasks, skills, logging } = catalog;
  const { verifyRequestState: verify } = catalog;
  const server = new Server(info, {
    capabilities: {
      tools: {},
      ...(resources ? { resources: resources.subscriptions ? { subscribe: true } : {} } : {}),
      ...(prompts ? { prompts: {} } : {}),
      ...(complete ? { completions: {} } : {}),
      ...(logging ? { logging: {} } : {}),
      ...(tasks || skills
        ? {
            extensions: {
              ...(tasks ? { [TASKS_EXTENSION]: {} } : {}),
              ...(skills ? { [SKILLS_EXTENSION]: { directoryRead: true } } : {}),
            },
          }
        : {}),
    },
    ...(instructions === undefined ? {} : { instructions }),
    ...(verify ? { requestState: { verify } } : {}),
    cacheHints: CACHE_HINTS,
  });
  serveTools(server, catalog);
  if (methods === 'tools') return server;
  if (resources) serveResources(server, resources);
  if (prompts) servePrompts(server, prompts);
  if (complete) {
    server.setRequestHandler('completion/complete', async ({ params }) => {
      const values = await complete(params);
      return {
        completion: {
          values: values.slice(0, COMPLETIONS_MAX),
          total: values.length,
          hasMore: values.length > COMPLETIONS_MAX,
        },
      };
    });
  }
  if (tasks) serveTasks(server, tasks);
  if (skills) serveSkills(server, skills, protocolErrors);
  return server;
}

function serveTools(server: Server, { tools, tool: toolNamed }: Catalog): void {
  const find = (name: string): McpTool | undefined =>
    toolNamed?.(name) ?? tools().find(({ definition }) => definition.name === name);
  server.setRequestHandler('tools/list', (_, context) => ({
    tools: toolsFor(tools(), featuresOf(server, context)),
  }));
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    const tool = find(params.name);
    if (!tool) throw invalid(`unknown tool: ${params.name.slice(0, 200)}`);
    // The types of the SDK do not have the result of the tasks extension, which it passes on.
    const { arguments: args = {} } = params;
    return (await answerOf(tool, args, context, featuresOf(server, context))) as never;
  });
}

/** The result of a call, also of one that failed. @throws what the tool throws unexpectedly */
export async function answerOf<Context extends CallContext>(
  tool: McpTool<Context>,
  args: Readonly<Record<string, unknown>>,
  context: Context,
  client: ClientFeatures,
): Promise<object> {
  try {
    return asAnswered(await tool.call(args, context, client));
  } catch (error) {
    if (error instanceof TroupeError) return failedCall(error.toData());
    throw error;
  }
}

/** Only clients that show views learn of them, and have the tools that views call. */
const toolsFor = (tools: readonly McpTool[], { apps }: ClientFeatures): Tool[] =>
  apps
    ? tools.map(({ definition, view }) =>
        view ? { ...definition, _meta: { ...definition._meta, ui: view } } : definition,
      )
    : tools
        .filter(({ view }) => view?.visibility?.includes('model') ?? true)
        .map(({ definition }) => definition);

/** A created task without its inputs, result and error, which clients read with `tasks/get`. */
function asAnswered(answer: ToolAnswer): object {
  if (answer.resultType !== 'task') return answer;
  const { inputRequests: _inputs, result: _result, error: _error, ...task } = answer as McpTask;
  return task;
}

function serveResources(server: Server, resources: NonNullable<Catalog['resources']>): void {
  server.setRequestHandler('resources/list', ({ params }) =>
    protocolErrors(resources.list(params?.cursor)),
  );
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [...resources.templates],
  }));
  server.setRequestHandler('resources/read', async ({ params: { uri } }, context) => {
    const found = await protocolErrors(resources.read(uri, featuresOf(server, context)));
    if (found) return found;
    throw new ResourceNotFoundError(uri);
  });
  const { subscriptions } = resources;
  if (!subscriptions) return;
  server.setRequestHandler('resources/subscribe', ({ params: { uri } }) => {
    subscriptions.subscribe(uri);
    return {};
  });
  server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
    subscriptions.unsubscribe(uri);
    return {};
  });
}

function servePrompts(server: Server, prompts: NonNullable<Catalog['prompts']>): void {
  server.setRequestHandler('prompts/list', () => ({
    prompts: prompts.map(({ definition }) => definition),
  }));
  server.setRequestHandler('prompts/get', ({ params }, context) => {
    const prompt = prompts.find(({ definition }) => definition.name === params.name);
    if (!prompt) throw invalid(`unknown prompt: ${params.name.slice(0, 200)}`);
    const missing = (prompt.definition.arguments ?? [])
      .filter(({ name, required }) => required && params.arguments?.[name] === undefined)
      .map(({ name }) => name);
    if (missing.length > 0) throw invalid(`${params.name} needs ${missing.join(', ')}`);
    return protocolErrors(prompt.get(params.arguments ?? {}, context));
  });
}

function serveTasks(server: Server, tasks: McpTasks): void {
  const serve = (
    method: string,
    answer: (params: TaskParams, context: ServerContext) => Promise<object>,
  ): void =>
    server.setRequestHandler(method, { params: taskParams }, async (params, context) => {
      if (!featuresOf(server, context).tasks) throw noTasks();
      return { resultType: 'complete', ...(await protocolErrors(answer(params, context))) };
    });
  serve('tasks/get', ({ taskId }) => tasks.get(taskId));
  // The SDK moves `inputResponses` from the parameters to the context.
  serve('tasks/update', async ({ taskId }, { mcpReq }) => {
    await tasks.update(taskId, mcpReq.inputResponses ?? {});
    return {};
  });
  serve('tasks/cancel', async ({ taskId }) => {
    await tasks.cancel(taskId);
    return {};
  });
}

type TaskParams = { readonly taskId: string };
const taskParams = textParams(['taskId']);

const featuresOf = (server: Server, { mcpReq: { envelope } }: ServerContext): ClientFeatures =>
  envelope
    ? featuresIn((envelope as Record<string, unknown>)[CLIENT_CAPABILITIES_META_KEY], true)
    : featuresIn(server.getClientCapabilities(), false);

/** @param isStateless declared with the request, not when a session began */
export const featuresIn = (declared: unknown, isStateless: boolean): ClientFeatures => {
  const { extensions, elicitation } = isObject(declared) ? declared : {};
  return {
    tasks: isStateless && isObject(extensions) && isObject(extensions[TASKS_EXTENSION]),
    // A client of 2025-06-18 declares forms by an empty object.
    forms: isObject(elicitation) && ('form' in elicitation || !('url' in elicitation)),
    apps: isObject(extensions) && showsViews(extensions[APPS_EXTENSION]),
  };
};

const showsViews = (settings: unknown): boolean =>
  isObject(settings) &&
  Array.isArray(settings['mimeTypes']) &&
  settings['mimeTypes'].includes(APP_MIME_TYPE);

const invalid = (message: string): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, message);

const noTasks = (): ProtocolError =>
  new ProtocolError(
    ProtocolErrorCode.MissingRequiredClientCapability,
    `this method needs the client capability ${TASKS_EXTENSION}, declared with the request`,
    { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } },
  );

/** The result; a refusal becomes an error of the protocol, which has no codes of its own. */
async function protocolErrors<T>(result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    if (!(error instanceof TroupeError)) throw error;
    const { code, message, details } = error.toData();
    throw new ProtocolError(ERRORS[code].mcp, message, { code, ...details });
  }
}
