/**
 * Results of hooks: their schemas, and how each result affects the next hook and the caller. One
 * entry per hook, parallel to HOOKS.
 *
 * Invariants: a result that does not match its schema is a failure of the hook, because a
 * misspelled `block` would block nothing. Accepted results are copied as JSON, so the hook keeps no
 * reference to them.
 */
import { type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { HookEvent, HookName, HookResult } from './hooks.ts';

const of = (properties: Record<string, TSchema>): TSchema =>
  Type.Object(properties, { additionalProperties: false });
const text = Type.String({ maxLength: 1_048_576 });
const reason = Type.String({ minLength: 1, maxLength: 4_096 });

/** undefined: the result is ignored. */
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
  routeMessage: of({ agent: Type.String({ minLength: 1, maxLength: 100 }) }),
  message_received: of({ text: Type.Optional(text), refuse: Type.Optional(reason) }),
  message_sending: of({ text: Type.Optional(text), cancel: Type.Optional(Type.Boolean()) }),
  message_sent: undefined,
  session_start: undefined,
  session_end: undefined,
  gateway_start: undefined,
  gateway_stop: undefined,
};

/**
 * The validated result of a hook; undefined when it changes nothing.
 * @throws Error that describes the fault
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

/** A message that a hook leaves empty is refused: models accept no empty message. */
export const refusedIfEmpty = <Name extends HookName>(
  name: Name,
  event: HookEvent<Name>,
  result: HookResult<Name> | undefined,
): HookResult<Name> | undefined => {
  if (name !== 'message_received') return result;
  const { text: left } = (result ?? {}) as HookResult<'message_received'>;
  if (left === undefined || left.trim() !== '') return result;
  if ((event as HookEvent<'message_received'>).images.length > 0) return result;
  return { refuse: 'a hook removed the text of the message' };
};

/** The event for the next hook: it contains the changes of the previous ones. */
export const eventAfter = <Name extends HookName>(
  event: HookEvent<Name>,
  result: HookResult<Name> | undefined,
): HookEvent<Name> => {
  const changed = Object.entries((result ?? {}) as Any).filter(([key]) => key in event);
  return { ...event, ...Object.fromEntries(changed) };
};

/** Merges a result into the previous ones. Values of `prependContext` are concatenated. */
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

/**
 * Later hooks are skipped: the call is blocked, the message refused, the reply cancelled, or the
 * agent chosen.
 */
export const isFinal = (result: unknown): boolean => {
  const { block, refuse, cancel, agent } = (result ?? {}) as Any;
  return [block, refuse, agent].some((value) => value !== undefined) || cancel === true;
};
