/**
 * Tools of agents, made from the list of an MCP server. A call goes through the actor
 * `remote-call`.
 */
import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { type TSchema, Type } from '@sinclair/typebox';
import type { CheckError } from '../../protocols/check.ts';
import { errorData } from '../../protocols/errors.ts';
import type { LeftOut, ListedTool } from '../../protocols/mcp-server.ts';
import { REMOTE_CALL_MS_MAX } from '../../protocols/remote-call.ts';
import type { McpServerConfig } from '../../runtime/config/index.ts';
import { type SchemaCheck, schemaCheck } from '../../runtime/index.ts';
import { callRemote } from '../tools/remote.ts';
import type { Tool } from '../tools/tool.ts';

/** For all schemas of one list, milliseconds: compiling one blocks the process. */
const COMPILE_MS_MAX = 5_000;
/** For the answer of the actor after the end of a call, milliseconds. */
const ANSWER_MS = 10_000;

const TOO_SLOW = 'the schemas of this server take too long to compile';

const HAS_SECRET =
  'Not called: the arguments contain a secret of this installation. Remove it first.';

export type AgentTools = {
  readonly tools: readonly Tool[];
  readonly leftOut: readonly LeftOut[];
  /** the compiled schemas, by their text */
  readonly checks: ReadonlyMap<string, SchemaCheck | string>;
};

export type Settings = Pick<
  McpServerConfig,
  'approval' | 'timeoutSeconds' | 'url' | 'command' | 'args'
>;

/**
 * In the order of the list. A tool with an invalid schema is left out.
 * @param known checks of the former list, which are not compiled again
 */
export async function agentTools(
  server: string,
  listed: readonly ListedTool[],
  settings: Settings,
  known: AgentTools['checks'] = new Map(),
): Promise<AgentTools> {
  const tools: Tool[] = [];
  const leftOut: LeftOut[] = [];
  const checks = new Map<string, SchemaCheck | string>();
  let usedMs = 0;
  for (const one of listed) {
    const begunAt = performance.now();
    const checkOf = async (schema: ListedTool['inputSchema'], what: string) => {
      const text = JSON.stringify(schema);
      const check =
        known.get(text) ??
        checks.get(text) ??
        (usedMs > COMPILE_MS_MAX ? TOO_SLOW : await compiled(schema));
      checks.set(text, check);
      return typeof check === 'string' ? `its ${what}: ${check}` : check;
    };
    const input = await checkOf(one.inputSchema, 'inputSchema');
    const output = one.outputSchema && (await checkOf(one.outputSchema, 'outputSchema'));
    usedMs += performance.now() - begunAt;
    if (typeof input === 'string') leftOut.push({ name: one.serverName, why: input });
    else if (typeof output === 'string') leftOut.push({ name: one.serverName, why: output });
    else tools.push(agentTool(server, one, settings, input));
    await setImmediate();
  }
  return { tools, leftOut, checks };
}

const compiled = (schema: ListedTool['inputSchema']): Promise<SchemaCheck | string> =>
  schemaCheck(schema).catch((error: unknown) => errorData(error).message);

function agentTool(
  server: string,
  { name, serverName, description, inputSchema, readOnly, idempotent }: ListedTool,
  settings: Settings,
  check: SchemaCheck,
): Tool {
  const { approval, timeoutSeconds } = settings;
  const timeoutMs = Math.min(timeoutSeconds * 1_000, REMOTE_CALL_MS_MAX);
  const asks = approval === 'always' || (approval === 'changes' && !readOnly);
  return {
    name,
    groups: ['mcp', `mcp:${server}`],
    description,
    parameters: Type.Unsafe(inputSchema) as TSchema,
    check: (args) => errorsBy(check, args),
    class: 'keyed',
    parallel: readOnly,
    timeoutMs: timeoutMs + ANSWER_MS,
    ...(asks && {
      question: (args: unknown) => ({
        command: name,
        target: identityOf(settings),
        detail: `${serverName} of the MCP server ${server}: ${JSON.stringify(args)}`,
        scope: approval === 'always' ? ('each-call' as const) : ('outside' as const),
      }),
    }),
    async run(args, context) {
      const text = JSON.stringify(args);
      if (context.secrets.text(text) !== text) return { text: HAS_SECRET, isError: true };
      return callRemote(
        {
          kind: 'mcp',
          server,
          name: serverName,
          // sound: the schema of the tool is that of an object, and was checked
          input: args as Record<string, unknown>,
          class: readOnly ? 'repeatable' : idempotent ? 'keyed' : 'once',
          timeoutMs,
        },
        context,
      );
    },
  };
}

const IDENTITY_CHARACTERS = 16;

/** What a permission is given to: another program, argument or URL is another server. */
const identityOf = ({ url, command, args }: Settings): string => {
  const place = JSON.stringify(url === undefined ? [command, ...args] : url);
  const digest = createHash('sha256').update(place).digest('hex');
  return `server-${digest.slice(0, IDENTITY_CHARACTERS)}`;
};

/** A schema that takes too long to check refuses. */
const errorsBy = (check: SchemaCheck, value: unknown): readonly CheckError[] => {
  try {
    return check(value);
  } catch (error) {
    return [{ path: '', message: errorData(error).message }];
  }
};
