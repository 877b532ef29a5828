/**
 * Results of hooks: their schemas, and what each one means for the next hook and for the caller.
 * One place per hook, beside HOOKS.
 *
 * Invariants: a result that is not of its schema is a failure of its hook, since a misspelled
 * `block` would block nothing; what is taken over is JSON, and no hook keeps a hold of it.
 */
import { type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { HookEvent, HookName, HookResult } from './hooks.ts';

const of = (properties: Record<string, TSchema>): TSchema =>
  Type.Object(properties, { additionalProperties: false });
const text = Type.String({ maxLength: 1_048_576 });
const reason = Type.String({ minLength: 1, maxLength: 4_096 });

/** undefined: what it returns is not looked at. */
const schemas: Readonly<Record<HookName, TSchema | undefined>> = {
  'agent:bootstrap': of({
    files: Type.Array(of({ name: Type.String({ minLength: 1, maxLength: 256 }), text }), {
      maxItems: 100,
    }),
  }),
  command: of({ reply: Type.Optional(text) }),
  before_agent_start: of({ prependContext: Type.Optional(text), system: Type.Optional(text) }),
  agent_end: undefined,
  before_compaction: undefined,
  after_compaction: undefined,
  before_tool_call: of({ args: Type.Optional(Type.Unknown()), block: Type.Optional(reason) }),
  after_tool_call: undefined,
  tool_result_persist: of({ result: text }),
  message_received: of({ text: Type.Optional(text), refuse: Type.Optional(reason) }),
  message_sending: of({ text: Type.Optional(text), cancel: Type.Optional(Type.Boolean()) }),
  message_sent: undefined,
  session_start: undefined,
  session_end: undefined,
  gateway_start: undefined,
  gateway_stop: undefined,
};

/**
 * What a hook returned, as its schema has it; undefined when it changes nothing.
 * @throws Error that says what is wrong
 */
export const resultOf = <Name extends HookName>(
  name: Name,
  returned: unknown,
): HookResult<Name> | undefined => {
  const schema = schemas[name];
  if (!schema || returned === undefined || returned === null) return undefined;
  const json: unknown = JSON.parse(JSON.stringify(returned) ?? 'null');
  const fault = Value.Errors(schema, json).First();
  if (fault) {
    const place = fault.path === '' ? 'its result' : `${fault.path.slice(1)} of its result`;
    throw new Error(`${place} is wrong: ${fault.message}`);
  }
  return json as HookResult<Name>;
};

type Any = Readonly<Record<string, unknown>>;

/** The event for the next hook: what one changed, the next one sees. */
export const eventAfter = <Name extends HookName>(
  event: HookEvent<Name>,
  result: HookResult<Name> | undefined,
): HookEvent<Name> => {
  const changed = Object.entries((result ?? {}) as Any).filter(([key]) => key in event);
  return { ...event, ...Object.fromEntries(changed) };
};

/** A result laid over those before; what is put in front of the message adds up. */
export const resultAfter = <Name extends HookName>(
  before: HookResult<Name> | undefined,
  result: HookResult<Name> | undefined,
): HookResult<Name> | undefined => {
  if (!before || !result) return result ?? before;
  const [one, other] = [before as Any, result as Any];
  const prepended = [one['prependContext'], other['prependContext']].filter((part) => part);
  const prependContext = prepended.length > 0 ? { prependContext: prepended.join('\n\n') } : {};
  return Object.assign({}, one, other, prependContext) as HookResult<Name>;
};

/** Nobody after it is asked: it is blocked, refused or called off. */
export const isFinal = (result: unknown): boolean => {
  const { block, refuse, cancel } = (result ?? {}) as Any;
  return block !== undefined || refuse !== undefined || cancel === true;
};
