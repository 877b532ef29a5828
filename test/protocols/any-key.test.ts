/** Values of records with free keys are checked, whatever the keys are. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Type } from '@sinclair/typebox';
import { describe, expect, it } from 'vitest';
import { AnyKey } from '../../protocols/any-key.ts';
import { checker } from '../../protocols/check.ts';
import { configSchema } from '../../runtime/config/schema/schema.ts';

const folder = join(import.meta.dirname, '../../protocols/schemas');
const published = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.json'))
  .map((path): [string, unknown] => [path, JSON.parse(readFileSync(join(folder, path), 'utf8'))]);

const CHECKS = ['type', 'anyOf', 'allOf', 'const', 'enum', '$ref'];

/** Places of records whose values are checked only if the key has no line break. */
function leaky(schema: unknown, path: string): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  return Object.entries(schema).flatMap(([name, part]: [string, unknown]) => {
    const below = `${path}/${name}`;
    const isChecked = CHECKS.some((check) => Object.hasOwn(Object(part) as object, check));
    return name === '^(.*)$' && isChecked ? [below] : leaky(part, below);
  });
}

describe('a record with free keys', () => {
  it('checks the value of a key with line breaks', () => {
    const check = checker(Type.Record(AnyKey, Type.Boolean()));
    expect(check({ 'a\nb': true, '': false }).ok).toBe(true);
    expect(check({ 'a\nb': 1 }).ok).toBe(false);
  });

  it.each([...published, ['the configuration', configSchema] as const])(
    'has its values checked: %s',
    (name, schema) => expect(leaky(schema, name)).toEqual([]),
  );
});
