/**
 * When a change of the configuration takes effect, as the schema declares it (`x-applied`), and
 * what differs between two configurations.
 */
import type { TSchema } from '@sinclair/typebox';
import { childSchema, type WhenApplied } from './schema/fields.ts';
import { isWithin, leaves, parentPointer, parsePointer, valueAt } from './pointer.ts';
import { loadedSchema, type Config } from './schema/schema.ts';
import { Secret } from './secret.ts';

/** Of a schema whose parent has `outer`. */
export const whenOf = (schema: TSchema, outer: WhenApplied): WhenApplied =>
  (schema['x-applied'] as WhenApplied | undefined) ?? outer;

/** The schema of the value at a pointer; undefined for an unknown key. */
export const schemaAt = (pointer: string): TSchema | undefined =>
  parsePointer(pointer).reduce<TSchema | undefined>(
    (schema, key) => schema && childSchema(schema, key),
    loadedSchema,
  );

/** When a change of the value at a pointer takes effect; `restart` for an unknown key. */
export function whenApplied(pointer: string): WhenApplied {
  let when: WhenApplied = 'restart';
  let schema: TSchema | undefined = loadedSchema;
  for (const key of parsePointer(pointer)) {
    schema = childSchema(schema, key);
    if (schema === undefined) return 'restart';
    when = whenOf(schema, when);
  }
  return when;
}

/** A value that differs; a list of plain values is compared as a whole. */
export type ConfigChange = { readonly pointer: string; readonly when: WhenApplied };

/** In the order of the pointers; the data folder is not compared. */
export function changesOf(before: Config, after: Config): readonly ConfigChange[] {
  const pointers = new Set(
    [...leaves(before), ...leaves(after)].map(([pointer]) => whole(pointer)),
  );
  const changed = [...pointers].filter(
    (pointer) => pointer !== '/home' && textAt(before, pointer) !== textAt(after, pointer),
  );
  return changed
    .filter((pointer) => !changed.some((other) => other !== pointer && isWithin(other, pointer)))
    .toSorted()
    .map((pointer) => ({ pointer, when: whenApplied(pointer) }));
}

/** The list, for an element of a list of plain values. */
const whole = (pointer: string): string =>
  /\/\d+$/.test(pointer) ? parentPointer(pointer) : pointer;

/** Secrets are compared by their values. */
const textAt = (config: Config, pointer: string): string =>
  JSON.stringify(
    valueAt(config, pointer),
    function reveal(this: Record<string, unknown>, key, value) {
      const { [key]: raw } = this;
      return raw instanceof Secret ? raw.reveal() : (value as unknown);
    },
  ) ?? '';
