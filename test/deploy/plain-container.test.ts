/**
 * Sandboxed commands under the conditions of the shipped compose files: user, capabilities,
 * read-only root and masked paths. A plain `docker compose up` says which file to add; with that
 * file a command really runs.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { isAlive, killNow, processesUnder } from '../../agent/sandbox/process-tree.ts';
import { scriptOf } from '../../loadtest/model-server/script.ts';
import { SCRIPTED_MODEL, startModelServer } from '../../loadtest/model-server/server.ts';
import { ensureBuilt } from '../../tools/build.mjs';
import { eventually } from '../runtime/eventually.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { hasTini, inContainer, missingForContainers, volume, workerOf } from './container.ts';

const PLAIN = ['docker-compose.yml'];
const GRANTED = [...PLAIN, 'deploy/sandbox.yml'];
const FILE = 'deploy/sandbox.yml';
const missing = missingForContainers();

const port = await reservePort();

function startIn(files: readonly string[], data: string, args: readonly string[]) {
  const { command, args: all } = inContainer(workerOf(files), data, args);
  const child = spawn(command, all, {
    env: {
      PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      HOME: '/data',
      TROUPE_HOME: '/data',
      TROUPE_PORT: String(port),
      TROUPE_TOKEN: 'token-of-this-test-0123456789',
      NO_COLOR: '1',
      // as podman does, and for the notice
      container: 'docker',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const started = { child, stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (started.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (started.stderr += text));
  const closed = once(child, 'close');
  onTestFinished(async () => {
    // The first process of the namespace, with which all others end; and unshare itself.
    for (const id of processesUnder(child.pid!, 1_000)) killNow(id);
    await closed;
  });
  return started;
}

async function runIn(files: readonly string[], data: string, args: readonly string[]) {
  const started = startIn(files, data, args);
  await once(started.child, 'close');
  return `${started.stdout}${started.stderr}`;
}

it('the compose files give a worker what this test imitates', () => {
  const plain = workerOf(PLAIN);
  expect(plain).toMatchObject({ read_only: true, tmpfs: ['/tmp'], cap_drop: ['ALL'] });
  expect(plain.security_opt).toEqual(['no-new-privileges:true']);
  for (const name of ['cap_add', 'privileged', 'user'])
    expect(workerOf(GRANTED)).not.toHaveProperty(name);
  expect(workerOf(GRANTED).security_opt).toEqual([
    'no-new-privileges:true',
    'seccomp=unconfined',
    'apparmor=unconfined',
    'systempaths=unconfined',
  ]);
  const image = readFileSync(new URL('../../deploy/Dockerfile', import.meta.url), 'utf8');
  expect(image.match(/^USER .*$/gm)).toEqual(['USER node']);
  expect(image).toContain('ENTRYPOINT ["tini", "--", "node", "/app/dist/troupe.js"]');
});

describe.skipIf(missing !== undefined)('in a container', () => {
  beforeAll(ensureBuilt);

  it('a plain one refuses sandboxed commands, and doctor and the log name the file to add', async () => {
    const data = volume();
    const doctor = await runIn(PLAIN, data, ['doctor']);
    expect(doctor).toMatch(/warn {2}sandbox: sandboxed sessions cannot run commands here/);
    expect(doctor).toContain(FILE);
    const started = startIn(PLAIN, data, ['start', '--json']);
    await eventually(() => expect(started.stderr).toContain(FILE), 120_000);
    expect(started.stderr).toContain('user namespaces and to mount an own /proc');
  }, 400_000);

  it('with the file a sandboxed command runs, and sees neither data nor processes of troupe', async () => {
    const model = await startModelServer({ script: scriptOf({}), seed: 1, port: 0 });
    onTestFinished(() => model.close());
    const data = volume();
    const { baseUrl } = model;
    const models = [{ id: SCRIPTED_MODEL }];
    const config = {
      models: { providers: { scripted: { baseUrl, api: 'openai-completions', models } } },
      agents: {
        defaults: { model: `scripted/${SCRIPTED_MODEL}`, sandbox: { mode: 'always' } },
      },
    };
    const file = join(data, 'troupe.json5');
    writeFileSync(file, JSON.stringify(config));
    chmodSync(file, 0o644);
    const started = startIn(GRANTED, data, ['start', '--json']);
    await eventually(() => expect(started.stdout).toContain('\n'), 120_000);
    const command =
      'echo "cap $(grep CapEff /proc/self/status)"; echo hello > file && cat file; ' +
      'ls /data 2>&1; echo processes=$(ls /proc | grep -c "^[0-9]*$"); touch /usr/x 2>&1';
    await runIn(GRANTED, data, ['agent', '-m', `call exec ${JSON.stringify({ command })}`]);
    await runIn(GRANTED, data, ['sessions', 'export', 'main', '--out', '/data/exported']);
    const folder = join(data, 'exported');
    const files = readdirSync(folder, { recursive: true, withFileTypes: true });
    const shown = files
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
      .join('\n');
    expect(shown).toMatch(/cap CapEff:\\t0+\\nhello\\n/);
    expect(shown).toMatch(/cannot access '\/data'/);
    // its shell and its own programs
    expect(shown).toMatch(/processes=[1-9]\\n/);
    expect(shown).toMatch(/cannot touch '\/usr\/x'/);
    expect(started.stderr).not.toContain(FILE);
    // The first process of the container removes what bubblewrap leaves behind.
    const all = () => processesUnder(started.child.pid!, 1_000);
    if (hasTini) await eventually(() => expect(all().filter((id) => !isAlive(id))).toEqual([]));
  }, 400_000);
});
