/**
 * Function calls: converts actions to functions that a language model can call (OpenAI Chat
 * Completions), calls to envelopes, and tasks to tool messages.
 *
 * Pure: sends nothing.
 */
import { createHash } from 'node:crypto';
import { type Static, Type } from '@sinclair/typebox';
import { type ActionSpec, majorOf } from '../action.ts';
import { defined } from '../defined.ts';
import type { Envelope, EnvelopeHead } from '../envelope.ts';
import { TroupeError } from '../errors.ts';
import { isTooDeep, JSON_DEPTH_MAX } from '../json-depth.ts';
import type { TaskView, WireRefusal } from '../task.ts';

/** A function definition for models. */
export type FunctionDefinition = {
  readonly type: 'function';
  readonly function: {
    readonly name: string;
    readonly description: string;
    /** JSON Schema of the arguments: the payload's schema without schema_version */
    readonly parameters: Record<string, unknown>;
  };
};

/** One entry of `tool_calls`, as the model returned it. */
export const FunctionCallSchema = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: 128 }),
    type: Type.Optional(Type.Literal('function')),
    function: Type.Object(
      {
        name: Type.String({ minLength: 1, maxLength: 64 }),
        arguments: Type.String({ description: 'one JSON object, as text' }),
      },
      { additionalProperties: false },
    ),
  },
  { additionalProperties: false, title: 'FunctionCall' },
);
export type FunctionCall = Static<typeof FunctionCallSchema>;

/** The reply to the model. */
export type ToolMessage = {
  readonly role: 'tool';
  readonly tool_call_id: string;
  /** JSON: `{ state, result | error, resource_links }` */
  readonly content: string;
};

const NAME_CHARACTERS_MAX = 64;
const DIGEST_CHARACTERS = 16;

/**
 * `{domain}__{verb}_{object}-v{MAJOR}`: contains only characters that every provider accepts, and
 * is unique per action and MAJOR. A name longer than 64 characters ends in a digest.
 */
export const functionNameOf = ({
  action,
  action_version,
}: Pick<ActionSpec, 'action' | 'action_version'>): string => {
  const name = `${action.replace('.', '__')}-v${majorOf(action_version)}`;
  if (name.length <= NAME_CHARACTERS_MAX) return name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, DIGEST_CHARACTERS);
  return `${name.slice(0, NAME_CHARACTERS_MAX - DIGEST_CHARACTERS - 1)}-${digest}`;
};

/** The action and MAJOR version of a name without a digest. */
export const actionOfFunction = (
  name: string,
): { readonly action: string; readonly major: number } | undefined => {
  const version = name.lastIndexOf('-v');
  // A verb contains no two consecutive underscores, but a domain may.
  const dot = name.lastIndexOf('__', version);
  const major = name.slice(version + 2);
  if (dot <= 0 || version < dot || !/^\d+$/.test(major)) return undefined;
  const action = `${name.slice(0, dot)}.${name.slice(dot + 2, version)}`;
  return { action, major: Number(major) };
};

/**
 * The actions that a model may call. Sensitive payloads are excluded, because a model would write
 * them in plain text.
 */
export const callable = (specs: readonly ActionSpec[]): readonly ActionSpec[] =>
  specs.filter(({ sensitive }) => !sensitive);

export const functionOf = (spec: ActionSpec): FunctionDefinition => ({
  type: 'function',
  function: {
    name: functionNameOf(spec),
    description: spec.deprecated
      ? `${spec.description} (ends on ${spec.sunset_at ?? 'a date to be announced'})`
      : spec.description,
    parameters: argumentsOf(spec.schemas[newestSchema(spec)] ?? { type: 'object' }),
  },
});

/** The newest schema version; the arguments of a call use it. */
export const newestSchema = ({ schemas }: ActionSpec): string =>
  Object.keys(schemas).toSorted(byVersion).at(-1) ?? '1.0';

const byVersion = (a: string, b: string): number => {
  const [left, right] = [a, b].map((text) => text.split('.').map(Number)) as [number[], number[]];
  const at = left.findIndex((part, n) => part !== right[n]);
  return at < 0 ? left.length - right.length : left[at]! - (right[at] ?? -1);
};

/** Removes schema_version: the envelope gets it, and the model does not need it. */
const argumentsOf = (schema: Record<string, unknown>): Record<string, unknown> => {
  const { $id: _, $schema: __, properties, required, ...rest } = schema;
  const { schema_version: ___, ...fields } = (properties ?? {}) as Record<string, unknown>;
  const needed = Array.isArray(required)
    ? required.filter((field) => field !== 'schema_version')
    : [];
  return { ...rest, type: 'object', properties: fields, required: needed };
};

/** What the caller supplies with the call: the envelope without action and payload. */
export type CallHead = Omit<EnvelopeHead, 'action_version'>;

/**
 * Converts a call to an envelope with the arguments as payload. The Edge validates the payload
 * against the action's schema. @param specs the available actions @throws TroupeError NOT_FOUND for
 * an unknown function; INVALID_ARGUMENT for arguments that are not a JSON object
 */
export const envelopeOfCall = (
  call: FunctionCall,
  head: CallHead,
  specs: readonly ActionSpec[],
): Envelope => {
  const { name } = call.function;
  const spec = callable(specs).find((one) => functionNameOf(one) === name);
  if (!spec) throw noSuchFunction(name);
  return envelopeOfArguments(spec, argumentsIn(call), head);
};

/** The same for an action that is known, with arguments that are JSON. */
export const envelopeOfArguments = (
  spec: ActionSpec,
  args: Readonly<Record<string, unknown>>,
  head: CallHead,
): Envelope => ({
  ...head,
  version: '1.0',
  action: spec.action,
  action_version: spec.action_version,
  payload: { ...args, schema_version: newestSchema(spec) },
});

const noSuchFunction = (name: string): TroupeError => {
  const meant = actionOfFunction(name);
  const what = meant ? `version ${meant.major} of ${meant.action}` : JSON.stringify(name);
  return new TroupeError(
    'NOT_FOUND',
    `there is no function ${what}: GET /v1/functions lists the available ones`,
  );
};

const argumentsIn = ({
  function: { name, arguments: text },
}: FunctionCall): Record<string, unknown> => {
  if (isTooDeep(text)) {
    const fault = `are nested more than ${JSON_DEPTH_MAX} deep`;
    throw new TroupeError('INVALID_ARGUMENT', `the arguments of ${name} ${fault}`);
  }
  let value: unknown;
  try {
    value = text.trim() === '' ? {} : JSON.parse(text);
  } catch (cause) {
    throw new TroupeError('INVALID_ARGUMENT', `the arguments of ${name} are not JSON`, { cause });
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new TroupeError('INVALID_ARGUMENT', `the arguments of ${name} must be one JSON object`);
};

/** The tool message for a task in its current state, or for a refusal. */
export const toolMessageOf = (answer: TaskView | WireRefusal, callId: string): ToolMessage => ({
  role: 'tool',
  tool_call_id: callId,
  content: JSON.stringify('task_id' in answer ? shown(answer) : { error: answer.error }),
});

const shown = ({ task_id, state, result, resource_links, error, waiting }: TaskView): object => ({
  task_id,
  state,
  ...defined({ result, resource_links, error, waiting }),
});
