/** The small schemas that all gateway schemas are made of. */
import { type TSchema, Type } from '@sinclair/typebox';

/** Fields beyond those listed are refused. */
export const closed = { additionalProperties: false } as const;

export const Text = Type.String();
export const NonEmpty = Type.String({ minLength: 1 });
/** A whole number from 0: a count, or milliseconds. */
export const Count = Type.Integer({ minimum: 0 });
export const AnyObject = Type.Record(Type.String(), Type.Unknown());

export const Optional = <S extends TSchema>(schema: S) => Type.Optional(schema);
export const Nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);
/** One of these texts: a union of constants, as in the published schema. */
export const oneOf = <const T extends readonly string[]>(values: T) =>
  Type.Union(values.map((value: T[number]) => Type.Literal(value)));

/**
 * A published parameter without a counterpart here. A request that sets it is refused with `why`;
 * empty values pass, and so do the `neutral` ones, which ask for what happens anyway.
 */
export const Unsupported = <S extends TSchema>(
  schema: S,
  why: string,
  neutral: readonly unknown[] = [],
) => {
  const marked: S = { ...schema, 'x-unsupported': why, 'x-neutral': neutral };
  return Type.Optional(marked);
};

/** A published parameter that is accepted on purpose although it changes nothing, and why. */
export const NoEffect = <S extends TSchema>(schema: S, why: string) => {
  const marked: S = { ...schema, 'x-no-effect': why };
  return Type.Optional(marked);
};
