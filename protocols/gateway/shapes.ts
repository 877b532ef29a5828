/** Small schemas that the gateway schemas share. */
import { type TSchema, Type } from '@sinclair/typebox';

/** Fields beyond those listed are refused. */
export const closed = { additionalProperties: false } as const;

export const Text = Type.String();
export const NonEmpty = Type.String({ minLength: 1 });
/** An integer from 0: a count, or milliseconds. */
export const Count = Type.Integer({ minimum: 0 });
export const AnyObject = Type.Record(Type.String(), Type.Unknown());

export const Optional = <S extends TSchema>(schema: S) => Type.Optional(schema);
export const Nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);
/** One of these texts: a union of constants, as in the published schema. */
export const oneOf = <const T extends readonly string[]>(values: T) =>
  Type.Union(values.map((value: T[number]) => Type.Literal(value)));

/**
 * A published parameter that is not supported. A request that sets it is refused with `why`. Empty
 * values and the `neutral` ones are accepted, because they ask for the default behaviour.
 */
export const Unsupported = <S extends TSchema>(
  schema: S,
  why: string,
  neutral: readonly unknown[] = [],
) => {
  const marked: S = { ...schema, 'x-unsupported': why, 'x-neutral': neutral };
  return Type.Optional(marked);
};

/** A published parameter that is accepted but has no effect, and why. */
export const NoEffect = <S extends TSchema>(schema: S, why: string) => {
  const marked: S = { ...schema, 'x-no-effect': why };
  return Type.Optional(marked);
};
