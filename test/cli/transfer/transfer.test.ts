/** An installation moves from a data folder to a cluster with the program alone. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { scratchFolder } from '../../runtime/config/folder.ts';
import { natsServers, startNats } from '../../servers/nats.ts';
import { announced, runProgram, type RunOptions, type Started, startProgram } from '../program.ts';

/** Resolves when the process has printed that it is ready. */
async function ready(args: readonly string[], options: RunOptions): Promise<Started> {
  const program = startProgram([...args, '--json'], options);
  await announced(program);
  return program;
}

const urlOf = ({ stdout }: Started) => new URL((JSON.parse(stdout) as { url: string }).url);

/**
 * A conversation with one answer, in a data folder whose process was killed. Returns the answer.
 */
async function killedAfterAnAnswer(home: string): Promise<unknown> {
  const program = await ready(['start', '--port', '0'], { home });
  const { port } = urlOf(program);
  const answer = await runProgram(['agent', '-m', 'hello', '--run-id', 'r1', '--json'], {
    home,
    env: { TROUPE_PORT: port },
  });
  expect(JSON.parse(answer.stdout)).toMatchObject({ runId: 'r1', status: 'ok' });
  program.child.kill('SIGKILL');
  await program.ended;
  return JSON.parse(answer.stdout);
}

describe('troupe export', () => {
  it('prints a summary, writes a file only its owner can read, and changes nothing', async () => {
    const home = scratchFolder();
    await killedAfterAnAnswer(home);
    const file = join(home, 'out.export');
    const ended = await runProgram(['export', file, '--json'], { home });
    expect(ended.stderr).toContain('do not start troupe on this data folder again');
    const summary = JSON.parse(ended.stdout) as Record<string, unknown>;
    expect(summary).toMatchObject({ shards: 8, bytes: statSync(file).size });
    expect(summary['transcripts']).toBeGreaterThanOrEqual(1);
    expect(summary['sha256']).toMatch(/^[0-9a-f]{64}$/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const again = await runProgram(['export', file], { home });
    expect(again).toMatchObject({ code: 2, stdout: '' });
    expect(again.stderr).toContain('--force');
    const forced = await runProgram(['export', file, '--force', '--json'], { home });
    const { sha256: _, bytes: __, ...counts } = summary;
    expect(JSON.parse(forced.stdout)).toMatchObject(counts);
  });

  it('refuses while troupe runs, and without data', async () => {
    const home = scratchFolder();
    const file = join(home, 'out.export');
    const nothing = await runProgram(['export', file], { home });
    expect(nothing).toMatchObject({ code: 2 });
    expect(nothing.stderr).toContain('contains no data of troupe');
    const program = await ready(['start', '--port', '0'], { home });
    const running = await runProgram(['export', file], { home });
    expect(running).toMatchObject({ code: 6, stdout: '' });
    expect(running.stderr).toContain(`in use by process ${program.child.pid}. Stop it first`);
  });
});

describe('troupe import', () => {
  const servers = natsServers();
  it.skipIf(servers.length === 0)(
    'imports a conversation into a cluster: the same run returns the same answer there',
    { timeout: 90_000 },
    async () => {
      const home = scratchFolder();
      const answer = await killedAfterAnAnswer(home);
      const file = join(home, 'out.export');
      await runProgram(['export', file], { home });
      const server = await startNats({ path: servers.at(-1)!.path });
      onTestFinished(() => server.stop());
      const there = { home: scratchFolder(), env: { TROUPE_NATS_URL: server.url } };
      const imported = await runProgram(['import', file, '--json'], there);
      expect(imported).toMatchObject({ code: 0 });
      const summary = JSON.parse(imported.stdout) as Record<string, unknown>;
      expect(summary).toMatchObject({ shards: 8 });
      expect(summary['transcripts']).toBeGreaterThanOrEqual(1);
      const second = await runProgram(['import', file], there);
      expect(second).toMatchObject({ code: 2, stdout: '' });
      expect(second.stderr).toContain('with 8 shards already');

      await ready(['worker'], there);
      const gateway = await ready(['gateway', '--port', '0'], there);
      const env = { ...there.env, TROUPE_PORT: urlOf(gateway).port };
      const sessions = await runProgram(['sessions', '--json'], { ...there, env });
      expect(JSON.parse(sessions.stdout)).toMatchObject({ sessions: [{ key: 'agent:main:main' }] });
      const repeated = await runProgram(['agent', '-m', 'hello', '--run-id', 'r1', '--json'], {
        ...there,
        env,
      });
      expect(JSON.parse(repeated.stdout)).toEqual(answer);
    },
  );

  it('needs a file that troupe export wrote, and a server', async () => {
    const home = scratchFolder();
    const no = await runProgram(['import', join(home, 'none')], { home });
    expect(no).toMatchObject({ code: 2, stdout: '' });
    expect(no.stderr).toContain('no NATS server is configured');
  });
});
