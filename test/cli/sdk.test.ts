/** `troupe sdk` of the built program: its output is used like an external program uses it. */
import { execFile } from 'node:child_process';
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { root } from '../../tools/install.mjs';
import { startLive } from '../protocols/sdk/live.ts';
import { withoutPython } from '../protocols/sdk/python.ts';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { runProgram } from './program.ts';

const run = promisify(execFile);

let project: string;
beforeEach(() => {
  project = scratchFolder();
});
const writeSdk = async (language: string, folder: string): Promise<string> => {
  const out = join(project, folder);
  expect(await runProgram(['sdk', language, '--out', out])).toMatchObject({ code: 0, stderr: '' });
  return out;
};
const started = async () => {
  const live = await startLive();
  onTestFinished(() => live.stop());
  return { URL: live.url, TOKEN: await live.token('ann') };
};

describe('the SDK that is written', () => {
  it('in TypeScript works in a JavaScript program without a build', async () => {
    await writeSdk('typescript', 'node_modules/troupe-sdk');
    const text = `
      import { TroupeClient } from 'troupe-sdk';
      import { actions } from 'troupe-sdk/actions';
      const { URL: url, TOKEN: token } = process.env;
      const client = new TroupeClient({ url, token, tenant: 'conformance', principal: { sub: 'ann' } });
      const task = await actions(client).conformance.echoPayload({ text: 'hello' });
      console.log(task.state, task.result.text);`;
    const file = write(project, 'main.mjs', text);
    const { stdout } = await run(process.execPath, [file], { env: await started() });
    expect(stdout).toBe('SUCCEEDED hello\n');
  });

  it('in TypeScript has types, also under strict compiler options', {
    timeout: 120_000,
  }, async () => {
    const sdk = await writeSdk('typescript', 'node_modules/troupe-sdk');
    symlinkSync(join(root, 'node_modules/@types'), join(project, 'node_modules/@types'), 'dir');
    const use = (payload: string) => `
      import { TroupeClient, type Task } from 'troupe-sdk';
      import { actions } from 'troupe-sdk/actions';
      const client = new TroupeClient({ url: 'http://127.0.0.1:1', token: 't', tenant: 'conformance', principal: { sub: 'ann' } });
      export const task: Promise<Task> = actions(client).conformance.runSlowly(${payload});`;
    const strict = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess'];
    const types = ['--types', 'node', '--lib', 'es2023,dom,dom.iterable'];
    const compile = (file: string, ...how: string[]) => {
      const tsc = join(root, 'node_modules/typescript/bin/tsc');
      return run(process.execPath, [tsc, '--noEmit', ...strict, ...types, ...how, file], {
        cwd: project,
      });
    };
    const right = write(project, 'right.mts', use('{ seconds: 1 }'));
    await compile(right, '--module', 'nodenext');
    await compile(right, '--module', 'esnext', '--moduleResolution', 'bundler');
    const wrong = write(project, 'wrong.mts', use("{ seconds: 'one' }"));
    await expect(compile(wrong, '--module', 'nodenext')).rejects.toMatchObject({
      stdout: expect.stringMatching(/wrong\.mts.*number/) as string,
    });
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(JSON.parse(readFileSync(join(sdk, 'package.json'), 'utf8'))).toMatchObject({ version });
  });

  it('in Python works without a build', async (context) => {
    context.skip(withoutPython !== undefined, withoutPython);
    const sdk = await writeSdk('python', 'sdk');
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    expect(readFileSync(join(sdk, 'pyproject.toml'), 'utf8')).toContain(`version = "${version}"`);
    const text = `
import os, sys
sys.path.insert(0, sys.argv[1])
from troupe_sdk import TroupeClient
from troupe_sdk.actions import Actions
client = TroupeClient(os.environ["URL"], os.environ["TOKEN"], tenant="conformance", sub="ann")
print(Actions(client).conformance.echo_payload({"text": "hello"}).result["text"])`;
    const env = { PATH: process.env['PATH'], ...(await started()) };
    const { stdout } = await run('python3', ['-I', '-c', text, sdk], { env });
    expect(stdout).toBe('hello\n');
  });

  it('never overwrites existing files', async () => {
    write(project, 'mine.txt', 'mine');
    const { code, stderr } = await runProgram(['sdk', 'python', '--out', project]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('is not empty')]);
  });
});
