import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Parser } from '@asyncapi/parser';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { describe, expect, it } from 'vitest';
import { schemaTable } from '../../protocols/openapi/documents.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const published = (path: string) => join(root, 'protocols', 'schemas', path);

describe('the published documents', () => {
  it('contain an OpenAPI document that its linter accepts without a warning', () => {
    const program = createRequire(import.meta.url).resolve('@redocly/cli/bin/cli.js');
    const args = [program, 'lint', '--format=json', published('openapi.json')];
    const env = { ...process.env, REDOCLY_TELEMETRY: 'off' };
    const output = execFileSync(process.execPath, args, { env, encoding: 'utf8', stdio: 'pipe' });
    expect(JSON.parse(output)).toMatchObject({ totals: { errors: 0, warnings: 0 } });
  });

  it('contain an AsyncAPI document that its parser accepts', async () => {
    const found = await new Parser().validate(readFileSync(published('asyncapi.json'), 'utf8'));
    // Its names of severities: 0 is an error.
    expect(found).not.toContainEqual(expect.objectContaining({ severity: 0 }));
  });

  it('contain every schema with a unique name, in a form that another validator compiles', () => {
    const ajv = new Ajv2020({ strict: false });
    formats.default(ajv);
    const table = schemaTable();
    for (const name of Object.keys(table))
      expect(() => ajv.compile({ $defs: table, $ref: `#/$defs/${name}` })).not.toThrow();
    const text = JSON.stringify(table.Task);
    expect(text).toContain('#/$defs/WireError');
    expect(text).not.toContain('"$id"');
  });
});
