/**
 * What one caller sees over MCP: tools, resources, prompts and tasks. `server.ts` maps a catalog to
 * the protocol, on the official SDK; sources such as `action-tools.ts` fill it.
 *
 * Boundary: a catalog is made for an authenticated caller, shows only what this caller may use, and
 * has no state: it reads what is offered when it is asked, on any gateway of a cluster.
 */
import type {
  CallToolResult,
  CompleteRequestParams,
  GetPromptResult,
  InputRequiredResult,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplateType,
  ServerContext,
  Tool,
} from '@modelcontextprotocol/server';
import type { Need } from '../../operations/access.ts';
import type { Caller, Credentials } from '../edge/edge.ts';

/** An authenticated MCP client. */
export type McpCaller = Caller & {
  /** with which its requests are made again, as to the Edge */
  readonly credentials: Credentials;
  readonly isOperator: boolean;
  /** an operator of the whole installation */
  readonly isHome: boolean;
  /** aborted when the client has closed the connection of this request */
  readonly disconnected: AbortSignal;
  /** address of the client, for the audit */
  readonly remoteAddress?: string | undefined;
};

/** `completed` carries `result`, `failed` carries `error`, `input_required` `inputRequests`. */
export type McpTask = {
  readonly taskId: string;
  readonly status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';
  readonly statusMessage?: string;
  /** RFC 3339 */
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** from `createdAt`; null: it is kept until it has ended, and 28 hours */
  readonly ttlMs: number | null;
  readonly pollIntervalMs: number;
  readonly result?: object;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: object };
  readonly inputRequests?: Readonly<Record<string, object>>;
};

/** The answer of a tool: its result, a request for input, or a task that continues. */
export type ToolAnswer =
  | CallToolResult
  | InputRequiredResult
  | (McpTask & { readonly resultType: 'task' });

/** What a client declared, with this request or when its session began. */
export type ClientFeatures = {
  /** a call may be answered with a task; never in a session of 2025 */
  readonly tasks: boolean;
  /** it can ask its user for input by a form */
  readonly forms: boolean;
  /** it shows the views of tools (MCP Apps) */
  readonly apps: boolean;
};

/** For clients that show views; others do not see it. */
export type ToolView = {
  /** `ui://` resource that shows calls of the tool */
  readonly resourceUri?: string;
  /** without `model`: only views call it, and only clients that show views have it in their list */
  readonly visibility?: readonly ('model' | 'app')[];
};

/** What most tools use of the SDK's context of a call. */
export type CallContext = {
  readonly mcpReq: Pick<
    ServerContext['mcpReq'],
    '_meta' | 'envelope' | 'inputResponses' | 'requestState' | 'signal' | 'notify'
  >;
};

/** @typeParam Context of a call: all that the SDK has, or what the tool uses of it */
export type McpTool<Context = ServerContext> = {
  readonly definition: Tool;
  readonly view?: ToolView | undefined;
  /**
   * Failures of the tool are results with `isError`.
   * @throws TroupeError becomes such a result; anything else an internal error
   */
  call(
    this: void,
    args: Readonly<Record<string, unknown>>,
    context: Context,
    client: ClientFeatures,
  ): Promise<ToolAnswer>;
};

export type McpResources = {
  /** one page; `cursor` is a `nextCursor` that an earlier page named */
  list(
    this: void,
    cursor: string | undefined,
  ): Promise<{ readonly resources: Resource[]; readonly nextCursor?: string }>;
  readonly templates: readonly ResourceTemplateType[];
  /** undefined: there is no such resource for this caller */
  read(this: void, uri: string, client: ClientFeatures): Promise<ReadResourceResult | undefined>;
  /**
   * If present, 2025 clients may subscribe to updates of a resource and unsubscribe, which may be
   * repeated. The catalog sends the updates.
   */
  readonly subscriptions?: {
    subscribe(this: void, uri: string): void;
    unsubscribe(this: void, uri: string): void;
  };
};

/** Skills of the extension `io.modelcontextprotocol/skills`; their files are resources. */
export type McpSkills = {
  /** one page of entries; `cursor` is a `nextCursor` that an earlier page named */
  list(
    this: void,
    cursor: string | undefined,
  ): Promise<{ readonly skills: readonly object[]; readonly nextCursor?: string }>;
  /** the entry of the skill with this SKILL.md; undefined: there is none for this caller */
  get(this: void, uri: string): Promise<object | undefined>;
  /** what is directly in a folder of a skill; undefined: there is no such folder */
  directory(this: void, uri: string): Promise<readonly Resource[] | undefined>;
};

export type McpPrompt = {
  readonly definition: Prompt;
  get(
    this: void,
    args: Readonly<Record<string, string>>,
    context: ServerContext,
  ): Promise<GetPromptResult | InputRequiredResult>;
};

/** Tasks of the extension `io.modelcontextprotocol/tasks`. */
export type McpTasks = {
  /** @throws TroupeError NOT_FOUND */
  get(this: void, taskId: string): Promise<McpTask>;
  /** answers that the task does not wait for are ignored. @throws TroupeError NOT_FOUND */
  update(
    this: void,
    taskId: string,
    inputResponses: Readonly<Record<string, unknown>>,
  ): Promise<void>;
  /** requests the end; a task that has ended stays as it is. @throws TroupeError NOT_FOUND */
  cancel(this: void, taskId: string): Promise<void>;
  /**
   * The task now and after each change, until it has ended, the caller may not read it any more, or
   * `signal` aborts. Omitted: clients only poll.
   */
  follow?(this: void, taskId: string, signal: AbortSignal): AsyncGenerator<McpTask, void, void>;
};

export type Catalog = {
  /** shown to models by clients */
  readonly instructions?: string;
  /** sorted by name, because clients cache the list and prompts that contain it */
  tools(this: void): readonly McpTool[];
  /**
   * one of them by its name, without making the list, if it uses no more of a call than
   * `CallContext`; its plain calls are served without a server of the SDK (direct-calls.ts)
   */
  tool?(this: void, name: string): McpTool<CallContext> | undefined;
  /** what the scopes of a token must grant for a call of this tool; default nothing */
  needOf?(this: void, name: string): Need;
  readonly resources?: McpResources | undefined;
  readonly prompts?: readonly McpPrompt[];
  /** values for an argument of a prompt or a resource template, best first; at most 100 */
  complete?(this: void, params: CompleteRequestParams): Promise<readonly string[]>;
  readonly tasks?: McpTasks;
  readonly skills?: McpSkills | undefined;
  /**
   * Tools send log messages with `context.mcpReq.log`. A 2025 client chooses their level for its
   * session; a 2026 client with each request, without which it gets none.
   */
  readonly logging?: boolean;
  /**
   * Checks the request state that a client returns, and decodes it for `mcpReq.requestState()`;
   * without it, tools get the state as the client sent it. It is needed where the state grants
   * something. @throws when the state is not one that this installation issued: the request is
   * refused with -32602
   */
  verifyRequestState?(this: void, state: string, context: ServerContext): Promise<unknown>;
};
