/** An upgrade of one data folder that is finished while nothing runs. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Finished, UpgradeStatus } from '../../protocols/upgrade.ts';
import { bundle } from '../../tools/build.mjs';
import { kill, type Program, startProgram, TOKEN } from '../kill/program.ts';
import { eventually } from '../runtime/eventually.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { buildNext, NEXT_FORMAT } from './next-build.ts';

const data = mkdtempSync(join(tmpdir(), 'troupe-upgrade-'));
const started: Program[] = [];
let next: string;
beforeAll(async () => {
  next = await buildNext();
}, 120_000);
afterAll(async () => {
  await Promise.all(started.map(kill));
  rmSync(data, { recursive: true, force: true });
});

const run = promisify(execFile);

/** Runs it on the data folder. @throws with the error of the command */
async function troupe<T>(build: string, ...args: string[]): Promise<T> {
  const env = { ...process.env, TROUPE_CONFIG: '' };
  const { stdout } = await run(process.execPath, [build, ...args, '--data', data, '--json'], {
    env,
  });
  return JSON.parse(stdout) as T;
}

async function start(build: string): Promise<Program> {
  const program = await startProgram(data, await reservePort(), build);
  started.push(program);
  return program;
}

async function stop({ child }: Program): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}

test('a stopped troupe is upgraded: the next start audits it, and the older one refuses', {
  timeout: 600_000,
}, async () => {
  await stop(await start(bundle));
  const before = await troupe<UpgradeStatus>(next, 'upgrade', 'status');
  expect(before).toMatchObject({ cell: { format: 1 }, finish: { state: 'allowed' } });

  // Back to the older program, before it is finished.
  await stop(await start(next));
  await stop(await start(bundle));

  const finished = await troupe<Finished>(next, 'upgrade', 'finish');
  expect(finished).toMatchObject({ raised: true, cell: { format: NEXT_FORMAT } });
  expect(await troupe<Finished>(next, 'upgrade', 'finish')).toMatchObject({ raised: false });
  await expect(start(bundle)).rejects.toThrow(/record of the cell has format 2.*start the newer/);

  const { url } = await start(next);
  const audit = () => troupe<object>(next, 'audit', '--url', url, '--token', TOKEN);
  await eventually(async () => {
    expect(JSON.stringify(await audit())).toContain('upgrade.finish');
  }, 60_000);
});
