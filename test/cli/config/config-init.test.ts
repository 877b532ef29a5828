import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import JSON5 from 'json5';
import { describe, expect, it } from 'vitest';
import { configSchema, initialConfig, loadConfig } from '../../../runtime/config/index.ts';
import { scratchFolder, write } from '../../runtime/config/folder.ts';
import { runProgram } from '../program.ts';

/** Of the same folder, with the file or with defaults only. */
const configOf = (data: string, file?: string) =>
  loadConfig({ env: {}, flags: { data }, ...(file ? { file } : {}) }).config;

describe('troupe config init', () => {
  it('writes a file that changes nothing, and its schema, once', async () => {
    const home = scratchFolder();
    const file = join(home, '.troupe/troupe.json5');
    const schema = join(home, '.troupe/troupe.schema.json');
    const ended = await runProgram(['config', 'init', '--json'], { home });
    expect(JSON.parse(ended.stdout)).toEqual({ file, schema });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(JSON5.parse<object>(readFileSync(file, 'utf8'))).toHaveProperty(
      '$schema',
      './troupe.schema.json',
    );
    expect(JSON.parse(readFileSync(schema, 'utf8'))).toEqual(
      JSON.parse(JSON.stringify(configSchema)),
    );
    const data = join(home, '.troupe');
    expect(configOf(data, file)).toEqual(configOf(data, write(data, 'empty.json5', '{}')));
    write(home, '.troupe/troupe.json5', '{ gateway: { port: 4711 } }');
    const again = await runProgram(['config', 'init'], { home });
    expect(again).toMatchObject({ code: 2, stdout: '' });
    expect(again.stderr).toContain(`${file} exists and was not changed`);
    expect(readFileSync(file, 'utf8')).toBe('{ gateway: { port: 4711 } }');
  });

  it('writes where --config says', async () => {
    const home = scratchFolder();
    const file = join(home, 'own/settings.json5');
    const ended = await runProgram(['config', 'init', '--config', file], { home });
    expect(ended.code).toBe(0);
    expect(await runProgram(['config', 'check', '--config', file], { home })).toMatchObject({
      code: 0,
    });
  });

  it('shows defaults that are valid, and are the defaults', () => {
    const data = scratchFolder();
    const changed = initialConfig().replaceAll(/^ {4}\/\/ (\w+: (?!…).*)$/gm, '    $1');
    expect(changed.match(/^ {4}\w+: /gm)!.length).toBeGreaterThan(25);
    const file = write(data, 'troupe.json5', changed);
    expect(configOf(data, file)).toEqual(configOf(data, write(data, 'empty.json5', '{}')));
  });
});
