import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { shippedSpecs } from '../../../compose/actions.ts';
import { sdkFiles } from '../../../tools/sdk-files.ts';
import { withoutPython } from './python.ts';

const folder = fileURLToPath(new URL('../../../protocols/sdk/', import.meta.url));

it('the generated files of the SDKs are current, with every shipped action', async () => {
  const specs = shippedSpecs();
  const files = await sdkFiles(specs);
  for (const [path, text] of files)
    expect([path, readFileSync(folder + path, 'utf8')]).toEqual([path, text]);
  for (const path of ['typescript/actions.ts', 'python/troupe_sdk/actions.py'])
    for (const { action } of specs) expect(files.get(path)).toContain(`call${call(path)}${action}`);
});
const call = (path: string) => (path.endsWith('.py') ? '("' : "('");

it('every module of the Python SDK can be loaded by the machine’s own python3', (context) => {
  context.skip(withoutPython !== undefined, withoutPython);
  const load =
    'import sys; sys.path.insert(0, sys.argv[1]); import troupe_sdk.actions as a; print(a.Actions)';
  const options = {
    encoding: 'utf8',
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
  } as const;
  const printed = execFileSync('python3', ['-I', '-c', load, `${folder}python`], options);
  expect(printed).toContain('troupe_sdk.actions.Actions');
});
