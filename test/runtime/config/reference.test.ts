import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TSchema } from '@sinclair/typebox';
import { describe, expect, it } from 'vitest';
import { configSchema } from '../../../runtime/config/index.ts';
import { childSchemas } from '../../../runtime/config/schema/fields.ts';
import { configReference } from '../../../runtime/config/reference.ts';
import { load } from './folder.ts';

const root = join(import.meta.dirname, '../../..');

describe('docs/config.md', () => {
  it('equals the reference of the current schema (otherwise run: troupe config reference > docs/config.md)', () => {
    expect(readFileSync(join(root, 'docs/config.md'), 'utf8')).toBe(configReference());
  });

  it('has an example that loads', () => {
    const example = /```json5\n([^]*?)```/.exec(configReference())?.[1] ?? '';
    const { config } = load(example, { env: { MY_TOKEN: 'x' } });
    expect(config.agents.agents.map(({ id }) => id)).toEqual(['main', 'writer']);
  });
});

describe('the published schema', () => {
  const plain = JSON.parse(JSON.stringify(configSchema)) as TSchema;

  it('describes every key, and requires none that has a default', () => {
    const walk = (schema: TSchema, path: string): string[] =>
      childSchemas(schema).flatMap(([key, child]) => {
        const own = `${path}/${key}`;
        const required = ((schema.required ?? []) as string[]).includes(key) && 'default' in child;
        const bare = !child.description && !own.endsWith('[]') && own !== '/$schema';
        return [...(required || bare ? [own] : []), ...walk(child, own)];
      });
    expect(walk(plain, '')).toEqual([]);
  });

  it('permits a file to name the schema for an editor', () => {
    expect(load("{ $schema: './config.schema.json' }").config.log.level).toBe('info');
  });
});
