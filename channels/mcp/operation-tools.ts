/**
 * Operations as tools, for operators: the same parameters, results, errors and rights as over HTTP.
 * Results go to models, so secrets are masked in them. Names have `_` instead of dots, which some
 * clients refuse: `sessions.list` is `sessions_list`.
 */
import { type TSchema, Type } from '@sinclair/typebox';
import type { Tool } from '@modelcontextprotocol/server';
import { type Need, needOf, tenantOfOperation } from '../../operations/access.ts';
import { type CheckedRun, checkedRun } from '../../operations/checked-run.ts';
import { TASK_REF } from '../../operations/decisions.ts';
import { RESOURCES } from '../../operations/index.ts';
import { masked } from '../../operations/masked.ts';
import type { Operation, OperationServices } from '../../operations/operation.ts';
import { defined } from '../../protocols/defined.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { IDEMPOTENCY_KEY } from '../../protocols/mcp.ts';
import { TaskViewSchema } from '../../protocols/task.ts';
import type { CallContext, McpCaller, McpTool } from './catalog.ts';
import { textOf } from './errors.ts';

/** Which operations are tools: none, those that only read, or all. */
export type OperationTools = 'none' | 'read' | 'all';

export type OperationToolOptions = {
  readonly which: OperationTools;
  readonly services: OperationServices;
  /** records a change in the audit, before it is made */
  readonly audit: (caller: McpCaller, what: string) => void;
};

type Served = { readonly operation: Operation; readonly run: CheckedRun; readonly tool: Tool };

const isRead = ({ http }: Operation): boolean => http.method === 'GET';

let all: readonly Served[] | undefined;
const served = (): readonly Served[] =>
  (all ??= RESOURCES.flatMap(({ operations }) => operations).map((operation) => ({
    operation,
    run: lazily(() => checkedRun(operation)),
    tool: toolOf(operation),
  })));

/** Validators are compiled at the first call. */
const lazily = (make: () => CheckedRun): CheckedRun => {
  let run: CheckedRun | undefined;
  return (context, params) => (run ??= make())(context, params);
};

const Tenant = Type.Optional(Type.String({ description: 'The tenant; default your own' }));

function toolOf(operation: Operation): Tool {
  const { name, summary, params, result, http } = operation;
  const inputSchema = { ...params, properties: { ...params.properties, tenant: Tenant } };
  return {
    name: name.replaceAll('.', '_'),
    title: name,
    description: summary,
    inputSchema: plain(inputSchema) as Tool['inputSchema'],
    ...(isObjectSchema(result)
      ? { outputSchema: plain(result) as NonNullable<Tool['outputSchema']> }
      : {}),
    annotations: {
      readOnlyHint: isRead(operation),
      destructiveHint: http.method === 'DELETE',
      idempotentHint: http.method !== 'POST',
      openWorldHint: false,
    },
  };
}

const isObjectSchema = (schema: TSchema): boolean => schema['type'] === 'object';
/**
 * Without TypeBox's symbols, and without references to the OpenAPI document: clients compile it.
 */
const plain = (schema: object): unknown =>
  JSON.parse(
    JSON.stringify(schema, (_, part: unknown) => (isTaskRef(part) ? TaskViewSchema : part)),
  );

const isTaskRef = (part: unknown): boolean =>
  typeof part === 'object' && part !== null && '$ref' in part && part.$ref === TASK_REF;

/** The tools that the caller may use; none unless it is an operator. */
export const operationTools = (
  options: OperationToolOptions,
  caller: McpCaller,
): readonly McpTool<CallContext>[] =>
  servedTo(options, caller).map((operation) => toolFor(options, caller, operation));

/** One of them by its name. */
export const operationTool = (
  options: OperationToolOptions,
  caller: McpCaller,
  name: string,
): McpTool<CallContext> | undefined => {
  const found = servedTo(options, caller).find(({ tool }) => tool.name === name);
  return found && toolFor(options, caller, found);
};

/** What the scopes of a token must grant for it; undefined if no operation has this name. */
export const needOfOperation = (name: string): Need | undefined => {
  const found = served().find(({ tool }) => tool.name === name);
  return found && needOf(found.operation.http.method);
};

const servedTo = ({ which }: OperationToolOptions, caller: McpCaller): readonly Served[] =>
  which === 'none' || !caller.isOperator
    ? []
    : served().filter(
        ({ operation }) =>
          (which === 'all' || isRead(operation)) && (caller.isHome || operation.scope === 'tenant'),
      );

const toolFor = (
  { services, audit }: OperationToolOptions,
  caller: McpCaller,
  { operation, run, tool }: Served,
): McpTool<CallContext> => ({
  definition: tool,
  async call({ tenant: named, ...params }, { mcpReq }) {
    if (named !== undefined && typeof named !== 'string')
      throw new TroupeError('INVALID_ARGUMENT', 'tenant must be a text');
    const tenant = tenantOfOperation(operation, caller, named);
    if (!isRead(operation)) audit(caller, operation.name);
    const key = mcpReq._meta?.[IDEMPOTENCY_KEY];
    const idempotencyKey = operation.http.isKeyed && typeof key === 'string' ? key : undefined;
    const context = { ...services, tenant, caller, ...defined({ idempotencyKey }) };
    const result = masked(await run(context, params), services.maskSecrets);
    return {
      content: [textOf(result)],
      ...(isObjectSchema(operation.result)
        ? { structuredContent: result as Record<string, unknown> }
        : {}),
    };
  },
});

/** The result of an operation that only reads, with secrets masked, for resources. */
export const readOperation = async (
  services: OperationServices,
  caller: McpCaller,
  name: string,
  params: object,
): Promise<unknown> => {
  const found = served().find(({ operation }) => operation.name === name)!;
  const tenant = tenantOfOperation(found.operation, caller);
  const result = await found.run({ ...services, tenant, caller }, params);
  return masked(result, services.maskSecrets);
};
