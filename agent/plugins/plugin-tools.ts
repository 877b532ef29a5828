/** The tools of a plugin. The manifest describes them; a call runs in the plugin's process. */
import { type TSchema, Type } from '@sinclair/typebox';
import { type CheckError, checker, describeErrors } from '../../protocols/check.ts';
import { IMAGES_MAX, ImagePartSchema } from '../../protocols/content.ts';
import { errorData } from '../../protocols/errors.ts';
import { type SchemaCheck, schemaCheck } from '../../runtime/index.ts';
import type { Tool, ToolContext, ToolResult } from '../tools/tool.ts';
import type { ToolDeclaration } from './manifest.ts';
import type { Plugin } from './plugin.ts';

const DEFAULT_TIMEOUT_SECONDS = 120;
/** Progress of one call, characters; the rest is dropped. */
const UPDATE_CHARACTERS_MAX = 262_144;

const checkResult = checker(
  Type.Object(
    {
      text: Type.String({ maxLength: 1_048_576 }),
      isError: Type.Optional(Type.Boolean()),
      images: Type.Optional(Type.Array(ImagePartSchema, { maxItems: IMAGES_MAX })),
    },
    { additionalProperties: false },
  ),
);

/** @throws TroupeError INVALID_ARGUMENT for a schema that cannot be compiled */
export async function pluginTool(plugin: Plugin, declared: ToolDeclaration): Promise<Tool> {
  const { name, description, parameters, returns, timeoutSeconds } = declared;
  const check = await schemaCheck(parameters);
  const checkReturned = returns && (await schemaCheck(returns));
  const timeoutMs = (timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS) * 1_000;
  return {
    name,
    groups: ['plugins', plugin.id],
    description,
    parameters: Type.Unsafe(parameters) as TSchema,
    check: (args) => errorsBy(check, args),
    class: declared.class ?? 'once',
    parallel: declared.parallel ?? false,
    timeoutMs,
    async run(args, context) {
      const value = await plugin.call({
        kind: 'tool',
        name,
        input: args,
        about: aboutOf(context),
        timeoutMs,
        signal: context.signal,
        onEvent: updatesOf(context),
      });
      const result = resultOf(value, checkReturned);
      if (!('fault' in result)) return result;
      const why = `${name} returned something invalid: ${result.fault}`;
      plugin.onInvalid(why);
      return { text: why, isError: true };
    },
  };
}

/** The part of the context that is data. */
const aboutOf = ({
  tenant,
  agentId,
  sessionKey,
  runId,
  callId,
  idempotencyKey,
  now,
}: ToolContext) => ({ tenant, agentId, sessionKey, runId, callId, idempotencyKey, now });

const updatesOf = (context: ToolContext): ((event: unknown) => void) => {
  let left = UPDATE_CHARACTERS_MAX;
  return (event) => {
    if (typeof event !== 'string') return;
    const delta = event.slice(0, left);
    left -= delta.length;
    if (delta !== '') context.update(delta);
  };
};

const resultOf = (
  value: unknown,
  check: SchemaCheck | undefined,
): ToolResult | { readonly fault: string } => {
  if (check) {
    const errors = errorsBy(check, value);
    return errors.length > 0
      ? { fault: describeErrors(errors) }
      : { text: JSON.stringify(value) ?? '' };
  }
  const answer = checkResult(typeof value === 'string' ? { text: value } : value);
  return answer.ok ? answer.value : { fault: describeErrors(answer.errors) };
};

/** A schema that takes too long to check refuses. */
const errorsBy = (check: SchemaCheck, value: unknown): readonly CheckError[] => {
  try {
    return check(value);
  } catch (error) {
    return [{ path: '', message: errorData(error).message }];
  }
};
