/** The example as a reader runs it, and the request in its README. */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import type { TaskView } from '../../../protocols/task.ts';
import { eventually } from '../../runtime/eventually.ts';
import { reservePort } from '../../servers/reserve-port.ts';

const readme = readFileSync('examples/factory/README.md', 'utf8');
const blocks = [...readme.matchAll(/^```(bash)?\n([^]*?)^```$/gm)].map(([, , text]) => text!);

it('runs as its README says: it continues after a kill, and a failed trip is compensated', () => {
  const said = execFileSync(process.execPath, ['tools/run.mjs', 'examples/factory/main.ts'], {
    encoding: 'utf8',
  });
  expect(said).toBe(blocks[1]);
}, 120_000);

it('accepts the curl request of its README, and answers a repeat with the same trip', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-trip-'));
  const port = await reservePort();
  const args = ['tools/run.mjs', 'examples/factory/serve.ts', folder, String(port)];
  const troupe = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(async () => {
    troupe.kill('SIGTERM');
    if (troupe.exitCode === null) await once(troupe, 'exit');
    rmSync(folder, { recursive: true, force: true });
  });
  await once(troupe.stdout, 'data');
  const call = blocks
    .find((block) => block.startsWith('curl'))!
    .replaceAll('/tmp/trip', folder)
    .replaceAll('18790', String(port));
  const run = async () => {
    const { stdout } = await promisify(execFile)('bash', ['-c', call]);
    return JSON.parse(stdout) as TaskView;
  };
  const view = await eventually(async () => {
    const now = await run();
    expect(now).toMatchObject({ state: 'SUCCEEDED', action: 'travel.book_trip' });
    return now;
  });
  expect(await run()).toEqual(view);
}, 120_000);
