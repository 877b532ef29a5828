/** The check of `troupe doctor` on plugins. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { plugins } from '../../../cli/doctor/doctor-plugins.ts';
import { templateFiles } from '../../../cli/plugins/template.ts';
import { loadConfig } from '../../../runtime/config/index.ts';
import { scratchFolder, write } from '../../runtime/config/folder.ts';

/** The findings for a data folder with these plugins and entries of the configuration. */
function findingsFor(files: Readonly<Record<string, string>>, entries: object) {
  const data = scratchFolder();
  for (const [name, text] of Object.entries(files)) write(data, join('extensions', name), text);
  write(data, 'troupe.json5', JSON.stringify({ plugins: { entries } }));
  return plugins(loadConfig({ env: {}, flags: { data } }).config);
}
const template = (id: string) =>
  Object.fromEntries(
    Object.entries(templateFiles(id)).map(([name, text]) => [join(id, name), text]),
  );

describe('troupe doctor, on plugins', () => {
  it('names those that are enabled and those that are not', () => {
    const files = { ...template('one'), ...template('two') };
    expect(findingsFor(files, { one: { enabled: true } })).toMatchObject([
      { status: 'ok', message: expect.stringMatching(/^one enabled; two not enabled/) },
    ]);
  });

  it('reports a faulty manifest, and an enabled plugin without a folder', () => {
    const files = { ...template('one'), 'bad/package.json': '{' };
    const [bad, gone, rest] = findingsFor(files, { gone: { enabled: true } });
    expect(bad).toMatchObject({
      status: 'warn',
      message: expect.stringMatching(/^bad cannot be enabled: /),
      remedy: expect.stringContaining('troupe plugins check bad'),
    });
    expect(gone).toMatchObject({
      status: 'warn',
      message: expect.stringMatching(/^gone is enabled, but does not run: /),
    });
    expect(rest).toMatchObject({ status: 'ok', message: expect.stringContaining('one') });
  });

  it('fails when the folder cannot be read, as the start would', () => {
    const data = scratchFolder();
    write(data, 'extensions', 'a file');
    expect(plugins(loadConfig({ env: {}, flags: { data } }).config)).toMatchObject([
      { status: 'fail', message: expect.stringContaining('extensions cannot be read') },
    ]);
  });

  it('says that there are none', () => {
    expect(findingsFor({}, {})).toMatchObject([
      { status: 'ok', message: expect.stringMatching(/^none in /) },
    ]);
  });
});
