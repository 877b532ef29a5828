import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { schemaFiles } from '../../tools/schema-files.ts';
import { validator } from './gateway/published.ts';

const folder = fileURLToPath(new URL('../../protocols/schemas', import.meta.url));
const parsed = (path: string) => JSON.parse(schemaFiles().get(path) ?? 'null') as object;

/** Every `$ref` in a document. */
function* references(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null) return;
  if ('$ref' in value && typeof value.$ref === 'string') yield value.$ref;
  for (const field of Object.values(value)) yield* references(field);
}
/** The target of a JSON pointer such as `#/$defs/Task`; undefined if there is none. */
const resolved = (document: object, pointer: string): unknown =>
  pointer
    .slice('#/'.length)
    .split('/')
    .map((name) => decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>(
      (value, name) => Object.entries(value ?? {}).find(([key]) => key === name)?.[1],
      document,
    );

describe('the published schemas', () => {
  it('refer only to definitions in the same file', () => {
    for (const [path, text] of schemaFiles()) {
      const document = JSON.parse(text) as object;
      const dangling = [...references(document)].filter(
        (pointer) => resolved(document, pointer) === undefined,
      );
      expect([path, dangling]).toEqual([path, []]);
    }
  });

  it('of the gateway contain a definition that several methods share only once', () => {
    const text = schemaFiles().get('gateway/4.json') ?? '';
    expect(text.match(/"\$ref": "#\/\$defs\/ChatMessage"/g)?.length).toBeGreaterThan(2);
    expect(text.match(/"ChatMessage": /g)).toHaveLength(1);
  });

  it('in the repository are exactly those that the sources generate', () => {
    const found = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    );
    const paths = found.map((entry) => join(entry.parentPath, entry.name)).toSorted();
    const files = schemaFiles();
    expect(paths).toEqual([...files.keys()].map((path) => join(folder, path)).toSorted());
    for (const [path, text] of files) expect(readFileSync(join(folder, path), 'utf8')).toBe(text);
  });

  it('have the same bytes each time they are generated', () => {
    expect([...schemaFiles()]).toEqual([...schemaFiles()]);
  });

  it('of the envelope have the same results with another validator', () => {
    const schema = parsed('envelope/1.0.json');
    const good = {
      version: '1.0',
      request_id: '018f3c1e-7a52-7c3d-9f00-1b2c3d4e5f60',
      correlation_id: '018f3c1e-7a52-7c3d-9f00-1b2c3d4e5f61',
      causation_id: null,
      trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
      tenant_id: 'acme',
      principal: { sub: 'service-7', roles: [] },
      timestamp: '2026-01-31T09:30:00Z',
      ttl_sec: 300,
      idempotency_key: 'k',
      seq: 1,
      action: 'agent_data.update_document',
      action_version: '1.0.0',
      payload: { schema_version: '1.0', document: 'd-1' },
    };
    expect(validator.Check(schema, good)).toBe(true);
    for (const change of [
      { trace_id: '0'.repeat(32) },
      { action: 'x' },
      { hops: 1 },
      { action_version: '1' },
      { payload: {} },
    ]) {
      expect(validator.Check(schema, { ...good, ...change })).toBe(false);
    }
  });

  it('of the gateway accept only valid frames with another validator', () => {
    const schema = parsed('gateway/4.json');
    expect(validator.Check(schema, { type: 'req', id: '1', method: 'health' })).toBe(true);
    expect(validator.Check(schema, { type: 'event', event: 'tick', payload: { ts: 1 } })).toBe(
      true,
    );
    expect(validator.Check(schema, { type: 'res', id: '1' })).toBe(false);
    expect(validator.Check(schema, { type: 'hello' })).toBe(false);
  });
});
