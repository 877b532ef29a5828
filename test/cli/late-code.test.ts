/**
 * Code that the built program loads with the first request for it. A file that is missing at that
 * moment, as while a package manager replaces the program, must not fail all later requests.
 */
import { cpSync, readdirSync, readFileSync, renameSync, symlinkSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { operatorClient } from '../../client/operator-client.ts';
import { bundle, ensureBuilt } from '../../tools/build.mjs';
import { scratchFolder } from '../runtime/config/folder.ts';

ensureBuilt();
const root = dirname(dirname(bundle));
const TOKEN = 'a-token-of-forty-three-characters-1234567890';

/** The built program in a folder of its own, whose files a test may move away. */
function copyOfProgram(): string {
  const folder = scratchFolder();
  const { outputs } = JSON.parse(readFileSync(join(root, 'dist', 'build.json'), 'utf8')) as {
    outputs: readonly string[];
  };
  for (const path of outputs)
    if (!path.endsWith('.map')) cpSync(join(root, path), join(folder, path));
  for (const name of ['node_modules', 'package.json'])
    symlinkSync(join(root, name), join(folder, name));
  return join(folder, 'dist');
}

it('is loaded with the next request when its file was missing', async () => {
  const program = copyOfProgram();
  const home = scratchFolder();
  const child = spawn(
    process.execPath,
    [join(program, 'troupe.js'), 'start', '--json', '--port', '0'],
    {
      env: { PATH: process.env.PATH, HOME: home, TROUPE_TOKEN: TOKEN },
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
  const { url } = JSON.parse(line) as { url: string };
  const client = operatorClient({
    url: url.replace(/#.*/, '').replace('http', 'ws'),
    token: TOKEN,
  });
  onTestFinished(() => client.close());
  client.connect();
  await client.ready();

  /** The request fails while the chunk is missing, and then no more. */
  const requires = async (chunk: RegExp, request: () => Promise<unknown>) => {
    const found = readdirSync(program).filter((name) => chunk.test(name));
    expect(found).toHaveLength(1);
    const path = join(program, found[0]!);
    renameSync(path, `${path}.away`);
    await expect(request()).rejects.toThrow(/Cannot find module|internal error/);
    renameSync(`${path}.away`, path);
    await request();
  };
  const run = (name: string) => () => client.request('operations.run', { name, params: {} });
  await requires(/^operations-\w+\.js$/, run('agents.list'));
  await requires(/^live-actors-\w+\.js$/, run('actors.list'));
}, 60_000);
