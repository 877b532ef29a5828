/** Checks what the process of a plugin sends: a plugin may send anything. */
import { Type } from '@sinclair/typebox';
import { checker, describeErrors } from '../../protocols/check.ts';
import { isTooDeep } from '../../protocols/json-depth.ts';
import { type PluginMessage, RETRY_AFTER_MS_MAX } from './wire.ts';

const NAMES_MAX = 200;
const names = Type.Array(Type.String({ maxLength: 200 }), { maxItems: NAMES_MAX });
const text = Type.String({ maxLength: 65_536 });
const whole = Type.Integer({ minimum: 0 });

const check = checker(
  Type.Union([
    Type.Object({
      type: Type.Literal('ready'),
      name: text,
      version: text,
      tools: names,
      hooks: names,
      providers: names,
      channels: names,
    }),
    Type.Object({ type: Type.Literal('failed'), message: text }),
    Type.Object({
      type: Type.Literal('result'),
      call: whole,
      value: Type.Optional(Type.Unknown()),
    }),
    Type.Object({
      type: Type.Literal('error'),
      call: whole,
      message: text,
      code: Type.Optional(text),
      retryAfterMs: Type.Optional(Type.Number({ minimum: 0, maximum: RETRY_AFTER_MS_MAX })),
    }),
    Type.Object({
      type: Type.Literal('event'),
      call: whole,
      event: Type.Unknown(),
      ask: Type.Optional(whole),
    }),
    Type.Object({ type: Type.Literal('pong'), beat: whole }),
  ]),
);

/** @throws Error that describes the fault */
export function messageOf(line: string): PluginMessage {
  if (isTooDeep(line)) throw new Error('a message is nested too deeply');
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    throw new Error('a message is not JSON');
  }
  const answer = check(json);
  if (!answer.ok) throw new Error(`a message is invalid: ${describeErrors(answer.errors)}`);
  return answer.value;
}
