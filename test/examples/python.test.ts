/** The agent in Python beside a whole troupe, called by the other example. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { root } from '../../tools/install.mjs';
import { startLive } from '../protocols/sdk/live.ts';
import { withoutPython } from '../protocols/sdk/python.ts';
import { eventually } from '../runtime/eventually.ts';

const run = promisify(execFile);
const example = (name: string) => join(root, 'examples/python', name);

it('an agent in Python registers, receives a task from troupe, and executes it', async (context) => {
  context.skip(withoutPython !== undefined, withoutPython);
  const live = await startLive();
  onTestFinished(() => live.stop());
  const env = async (sub: string, roles: readonly string[]) => ({
    PATH: process.env['PATH'],
    PYTHONPATH: join(root, 'protocols/sdk/python'),
    PYTHONDONTWRITEBYTECODE: '1',
    TOKEN: await live.token(sub, { roles, tenant: 'default' }),
  });
  const agent = spawn('python3', [example('greeter.py'), live.url], {
    env: await env('greeter', ['agent']),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void agent.kill('SIGKILL'));
  const [said] = (await once(agent.stdout, 'data')) as [Buffer];
  expect(String(said)).toContain('"status": "live"');

  const asEnv = await env('ann', []);
  const ask = (action: string, payload: string) =>
    run('python3', [example('ask.py'), live.url, action, payload], { env: asEnv });
  const hello = await eventually(() => ask('greeter.say_hello', '{"name": "Ada"}'));
  expect(JSON.parse(hello.stdout)).toEqual({ text: 'Hello, Ada!' });
  const refused = await ask('greeter.say_hello', '{"name": 5}').catch((error: unknown) => error);
  expect(refused).toMatchObject({ stderr: expect.stringMatching(/INVALID_ARGUMENT.*name/) });
});
