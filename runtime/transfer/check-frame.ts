/**
 * Checks the shape of frames that are read from an export file. The checksum of the file proves
 * only that it is complete: any program can write a file with a valid checksum.
 */
import { type TSchema, Type } from '@sinclair/typebox';
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler';
import { AnyKey } from '../../protocols/any-key.ts';
import { ADDRESS_KEY_BYTES_MAX } from '../../protocols/address.ts';
import type { Frame } from './frames.ts';

const Whole = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Text = (maxLength: number) => Type.String({ minLength: 1, maxLength });
const Bytes = Type.Uint8Array();
const SHARDS_MAX = 65_536;
/** A tenant and a type are 63 characters each. */
const ADDRESS_MAX = 2 * 64 + ADDRESS_KEY_BYTES_MAX;

const Header = Type.Object({
  format: Type.Integer({ minimum: 1 }),
  cell: Text(64),
  env: Text(100),
  shards: Type.Integer({ minimum: 1, maximum: SHARDS_MAX }),
  createdAt: Whole,
  exportedAt: Whole,
  sealingKids: Type.Optional(Type.Array(Text(200))),
  program: Text(100),
});

/** The elements after the name of each frame. */
const PARTS: Readonly<Record<Frame[0], readonly TSchema[]>> = {
  header: [Header],
  shard: [Type.Integer({ minimum: 0, maximum: SHARDS_MAX - 1 }), Bytes],
  mail: [
    Type.Union([Type.Literal('data'), Type.Literal('control')]),
    Type.Array(Type.Tuple([Whole, Type.Number(), Bytes])),
  ],
  rows: [Type.Array(Type.Union([Type.String(), Bytes]))],
  letters: [Type.Array(Type.Tuple([Whole, Bytes]))],
  audits: [Type.Array(Bytes)],
  transcript: [Text(ADDRESS_MAX), Type.Array(Bytes)],
  blob: [Text(1_000), Bytes],
  turns: [Text(ADDRESS_MAX), Type.Array(Type.Tuple([Whole, Bytes]))],
  history: [
    Type.Integer({ minimum: 0, maximum: SHARDS_MAX - 1 }),
    Type.Array(Type.Tuple([Whole, Bytes])),
  ],
  keys: [Bytes],
  artifact: [Text(64), Text(200), Bytes],
  end: [Type.Record(AnyKey, Whole)],
};

const named = (name: string, parts: readonly TSchema[]) =>
  TypeCompiler.Compile(Type.Tuple([Type.Literal(name), ...parts]));
const CHECKS: ReadonlyMap<unknown, readonly TypeCheck<TSchema>[]> = new Map(
  Object.entries(PARTS).map(([name, parts]) => [name, [named(name, parts)]]),
).set('letters', [
  named('letters', PARTS.letters),
  named('letters', [...PARTS.letters, Text(200)]),
]);

/** @throws Error that names the frame and its first fault */
export function checkFrame(value: unknown): asserts value is Frame {
  const name: unknown = Array.isArray(value) ? value[0] : undefined;
  const checks = CHECKS.get(name);
  if (!checks) throw new Error('it holds something that is not a frame');
  if (checks.some((check) => check.Check(value))) {
    if (name !== 'rows' || isRows(value as Extract<Frame, readonly ['rows', unknown]>)) return;
  }
  const fault = checks.at(-1)?.Errors(value).First();
  const where = fault ? ` at ${fault.path}: ${fault.message}` : '';
  throw new Error(`its frame "${String(name)}" is not valid${where}`);
}

/** Table, key, value; table, key, value; … */
const isRows = ([, cells]: Extract<Frame, readonly ['rows', unknown]>): boolean =>
  cells.length % 3 === 0 &&
  cells.every((cell, at) => (at % 3 === 2) === (typeof cell !== 'string'));
