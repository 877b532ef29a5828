/**
 * `troupe bench faults` as a user runs it: the built program breaks a cell that it starts itself.
 * Each run ends with no process and no folder of it.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { execFileSync } from 'node:child_process';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkAccount } from '../../../bench/faults/check-account.ts';
import { smallDisk } from '../../../bench/faults/room.ts';
import type { AccountDocument } from '../../../loadtest/faults/document.ts';
import { runProgram, startProgram } from '../../cli/program.ts';
import { scratchFolder } from '../../runtime/config/folder.ts';
import { eventually } from '../../runtime/eventually.ts';
import { natsServers } from '../../servers/nats.ts';
import { buildNext, NEXT_VERSION } from '../../upgrade/next-build.ts';
import { processesWith } from '../processes-with.ts';

const LONG_MS = 240_000;
const nats = natsServers().at(-1);
const mountsHere = process.platform === 'linux' && process.getuid?.() === 0;
const none = nats ? '' : ' (skipped: there is no nats-server here)';

/** A home whose temporary folder is its own, so that what is left behind is visible. */
function newHome() {
  const home = scratchFolder();
  const temporary = join(home, 'tmp');
  mkdirSync(temporary);
  const left = () => [...readdirSync(temporary), ...processesWith(temporary)];
  return { home, env: { TMPDIR: temporary }, left };
}

const model = 'latency=uniform:20ms..100ms tokens=5';
const quick = ['--every', '1s', '--sessions', '4', '--rate', '3', '--model', model];

describe('troupe bench faults', () => {
  it.skipIf(!nats)(
    `kills a worker, the gateway and NATS of a cluster, and accounts for every message${none}`,
    async () => {
      const { home, env, left } = newHome();
      const out = join(home, 'account.md');
      const kinds = ['--faults', 'kill,gateway-kill,nats-restart', '--count', '3'];
      const cell = ['--workers', '2', '--nats-server', nats!.path, '--seed', '1'];
      const args = ['bench', 'faults', ...kinds, ...cell, ...quick, '--out', out];
      const ended = await runProgram(args, { home, env });
      expect(ended.stderr).not.toMatch(/Warning/);
      expect(ended).toMatchObject({ code: 0 });
      expect(ended.stdout).toContain('Nothing is lost, doubled or different.');
      const account = JSON.parse(
        readFileSync(join(home, 'account.json'), 'utf8'),
      ) as AccountDocument;
      expect(account).toMatchObject({ format: 1, seed: 1, nats: nats!.version });
      const [{ faults, findings }] = account.scenarios as [AccountDocument['scenarios'][number]];
      expect(findings).toEqual([]);
      const killed = faults.map(({ what }) => /^kill -9 of (\w+)/.exec(what)?.[1]).toSorted();
      expect(killed).toEqual(['gateway', 'nats', expect.stringMatching(/^w[12]$/)]);
      for (const fault of faults) expect(fault.endedAt).toBeDefined();
      expect(faults.flatMap(({ recoveriesMs }) => recoveriesMs).length).toBeGreaterThan(5);
      // the rows, counted again by other rules
      expect(checkAccount(out)).toMatchObject({ passed: true });
      expect(readFileSync(out, 'utf8')).toContain('# Account of messages under faults');
      expect(left()).toEqual([]);
    },
    LONG_MS,
  );

  it.skipIf(!nats)(
    `replaces workers and gateway by another version with a newer format of records${none}`,
    async () => {
      const { home, env, left } = newHome();
      const next = await buildNext();
      onTestFinished(() => rmSync(dirname(next), { recursive: true, force: true }));
      const kinds = ['--faults', 'upgrade', '--upgrade-to', next, '--count', '4'];
      const cell = ['--workers', '2', '--nats-server', nats!.path, '--seed', '1', '--json'];
      const ended = await runProgram(['bench', 'faults', ...kinds, ...cell, ...quick], {
        home,
        env,
      });
      expect(ended).toMatchObject({ code: 0 });
      const { scenarios } = JSON.parse(ended.stdout) as AccountDocument;
      expect(scenarios[0]!.faults.map(({ what }) => what)).toEqual([
        ...['w1', 'w2', 'gateway'].map(
          (name) => `${name} is stopped, and started with troupe ${NEXT_VERSION}`,
        ),
        'w1 is stopped, and started with the first program again',
      ]);
      expect(scenarios[0]!.findings).toEqual([]);
      expect(left()).toEqual([]);
    },
    LONG_MS,
  );

  it.each(['SIGTERM', 'SIGKILL'] as const)(
    '%s ends it and leaves nothing, also while its process is frozen',
    async (signal) => {
      const { home, env, left } = newHome();
      const kinds = ['--embedded', '--faults', 'freeze', '--duration', '10m'];
      const program = startProgram(['bench', 'faults', ...kinds, ...quick], { home, env });
      await eventually(() => expect(program.stderr).toContain('is frozen'), 120_000);
      program.child.kill(signal);
      const ended = await program.ended;
      if (signal === 'SIGTERM') {
        expect(ended).toMatchObject({ code: 130 });
        expect(ended.stderr).toContain('there is no account');
        expect(ended.stderr).not.toMatch(/no session answered|answers after/);
      }
      await eventually(() => expect(left()).toEqual([]), 30_000);
    },
    LONG_MS,
  );

  it.skipIf(!mountsHere)(
    `says which disk is full, before and during the faults${mountsHere ? '' : ' (skipped: only root can mount a small disk)'}`,
    async () => {
      const { home, env, left } = newHome();
      const unmount = smallDisk(env.TMPDIR, 40)!;
      onTestFinished(unmount);
      const args = ['bench', 'faults', '--embedded', '--faults', 'freeze', '--count', '9'];
      const refused = await runProgram([...args, ...quick], { home, env });
      expect(refused).toMatchObject({ code: 1 });
      const said = (free: string, needed: string) =>
        `the disk of the temporary folder ${env.TMPDIR} has ${free} MB free, and the processes of this test need ${needed} MB: make room there, or set TMPDIR`;
      expect(refused.stderr).toContain(said('42', '64'));
      expect(left()).toEqual([]);
      execFileSync('mount', ['-o', 'remount,size=80m', env.TMPDIR]);
      const program = startProgram([...args, ...quick], { home, env });
      await eventually(() => expect(program.stderr).toContain('is frozen'), 120_000);
      execFileSync('mount', ['-o', 'remount,size=12m', env.TMPDIR]);
      const ended = await program.ended;
      expect(ended).toMatchObject({ code: 1 });
      expect(ended.stderr).toMatch(/has \d+ MB free, and the processes of this test need 16 MB/);
      expect(left()).toEqual([]);
    },
    LONG_MS,
  );

  it('says which temporary folder cannot be used', async () => {
    const home = scratchFolder();
    const env = { TMPDIR: join(home, 'absent') };
    for (const args of [
      ['faults', '--embedded'],
      ['--rate', '1', '--duration', '5s'],
    ]) {
      const ended = await runProgram(['bench', ...args], { home, env });
      expect(ended).toMatchObject({ code: 1 });
      expect(ended.stderr).toContain(`the temporary folder ${env.TMPDIR} cannot be used (ENOENT)`);
    }
  });

  it('says what to install when there is no nats-server', async () => {
    const { home, left } = newHome();
    const env = { PATH: home, TMPDIR: join(home, 'tmp') };
    const ended = await runProgram(['bench', 'faults'], { home, env });
    // a machine may have one in a folder that is only on root's PATH
    if (ended.stderr.includes('starting a cell')) return;
    expect(ended).toMatchObject({ code: 2 });
    expect(ended.stderr).toMatch(/nats-server, which is not on PATH.*--nats-server.*--embedded/);
    expect(left()).toEqual([]);
  });

  it.each([
    [['--faults', 'fire'], 'no fault "fire"; there are kill, freeze'],
    [['--embedded', '--faults', 'partition'], 'partition needs a cluster'],
    [['--embedded', '--workers', '2'], 'exclude each other'],
    [['--count', '1', '--duration', '1m'], '--count and --duration exclude each other'],
    [['--embedded', '--duration', '2s'], '--every must be shorter than --duration'],
    [['--every', 'often'], '--every: "often" is no duration'],
    [['--count', '0'], '--count: '],
    [['--embedded', '--out', '/no/such/folder/account'], '--out: cannot write'],
    [['--nats-server', '/bin/true'], 'is no nats-server'],
    [['--embedded', '--faults', 'upgrade'], 'upgrade needs another version of troupe'],
    [['--embedded', '--upgrade-to', '/no/such'], 'is no script of troupe, and no folder with'],
    [['--embedded', '--upgrade-to', '/etc/hostname'], 'does not print a version of troupe'],
    [
      ['--embedded', '--faults', 'kill', '--upgrade-to', '/no/such'],
      '--upgrade-to needs the fault upgrade',
    ],
  ])('refuses %j', async (args, text) => {
    const { home, env, left } = newHome();
    const ended = await runProgram(['bench', 'faults', ...args], { home, env });
    expect(ended).toMatchObject({ code: 2 });
    expect(ended.stderr).toContain(text);
    expect(left()).toEqual([]);
  });
});
