/** Checkers of the schemas that actions declare, compiled once per schema. */
import type { TSchema } from '@sinclair/typebox';
import { type CheckError, checker } from '../../protocols/check.ts';
import type { Payload } from '../../protocols/envelope.ts';
import type { ActionDefinition } from './action.ts';

const checkers = new WeakMap<TSchema, ReturnType<typeof checker>>();

export function checkerOf(schema: TSchema): ReturnType<typeof checker> {
  const known = checkers.get(schema);
  if (known) return known;
  const made = checker(schema);
  checkers.set(schema, made);
  return made;
}

/** Errors of a payload that is not sealed against the schema of its version; [] when it fits. */
export function payloadErrors(
  { schemas }: Pick<ActionDefinition, 'schemas'>,
  payload: Payload,
): readonly CheckError[] {
  const { schema_version: version } = payload;
  if (!Object.hasOwn(schemas, version)) {
    const message = `must be one of ${Object.keys(schemas).join(', ')}`;
    return [{ path: '/schema_version', message }];
  }
  const answer = checkerOf(schemas[version]!)(payload);
  return answer.ok ? [] : answer.errors;
}
