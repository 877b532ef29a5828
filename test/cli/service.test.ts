/** `troupe service`: its files, checked by the programs that read them, and what it changes. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { describeService } from '../../cli/service/description.ts';
import { launchdList } from '../../cli/service/launchd.ts';
import { systemdUnit } from '../../cli/service/systemd.ts';
import { loadConfig } from '../../runtime/config/index.ts';
import { debianProgram } from '../../tools/debian.mjs';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { runProgram } from './program.ts';

const analyze = debianProgram('systemd-analyze');
const noAnalyze = analyze ? '' : ' (left out: there is no systemd-analyze here)';

/** A data folder whose name needs every kind of escape. */
function awkwardFolder(): string {
  const folder = join(scratchFolder(), 'my data 100% "$HOME" \\x');
  mkdirSync(folder);
  return folder;
}

const describeIn = (home: string, options: { system?: boolean; runAs?: string } = {}) => {
  const { config } = loadConfig({ env: {}, flags: { data: home } });
  return describeService(config, '', { ...options });
};

/** What systemd-analyze has to say about a unit; nothing if it is right. */
function complaintsAbout(text: string, options: readonly string[] = []): string {
  const folder = scratchFolder();
  const file = write(folder, 'troupe.service', text);
  const { stdout, stderr } = spawnSync(analyze!.path, ['verify', ...options, file], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], XDG_RUNTIME_DIR: folder, ...analyze!.env },
  });
  return stdout + stderr;
}

/** The words of `ExecStart`, as systemd reads them. */
const wordsOf = (unit: string): string[] => {
  const line = /^ExecStart=(.*)$/m.exec(unit)![1]!;
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word]) =>
    word!.replaceAll(/\\(.)/g, '$1').replaceAll('$$', '$').replaceAll('%%', '%'),
  );
};

describe.skipIf(!analyze)(`the unit, read by systemd-analyze${noAnalyze}`, () => {
  it('is right for the user and for the machine, with a folder of any name', () => {
    const home = awkwardFolder();
    expect(complaintsAbout(systemdUnit(describeIn(home)), ['--user'])).toBe('');
    const machine = systemdUnit(describeIn(home, { system: true, runAs: 'www-data' }));
    expect(complaintsAbout(machine)).toBe('');
    expect(machine).toContain('User=www-data');
  });

  it('would be refused with a wrong option', () => {
    const unit = systemdUnit(describeIn(scratchFolder()));
    expect(complaintsAbout(unit.replace('PrivateTmp=yes', 'PrivateTmp=perhaps'))).not.toBe('');
    expect(complaintsAbout(unit.replace('KillMode', 'KillMod'))).not.toBe('');
  });
});

/** System calls that the filter of a unit denies, of a command and all below it. */
function deniedCalls(unit: string, command: readonly string[], folder: string): string[] {
  const groups = /^SystemCallFilter=(.*)$/m.exec(unit)![1]!.split(' ');
  const allowed = groups.flatMap((group) => (group.startsWith('@') ? callsOf(group) : [group]));
  const log = join(folder, 'denied');
  const filter = `trace=!${[...new Set(allowed)].map((name) => `?${name}`).join(',')}`;
  const args = ['-f', '-qq', '--seccomp-bpf', '-e', filter, '-e', 'signal=none', '-o', log];
  execFileSync('strace', [...args, ...command], { stdio: 'ignore', timeout: 60_000 });
  const found = [...readFileSync(log, 'utf8').matchAll(/^\d+\s+(\w+)\(/gm)];
  return [...new Set(found.map(([, name]) => name!))].toSorted();
}

function callsOf(group: string): string[] {
  const { path, env } = analyze!;
  const options = { encoding: 'utf8', env: { ...process.env, ...env } } as const;
  const [, ...lines] = execFileSync(path, ['syscall-filter', group], options).split('\n');
  const names = lines.map((line) => line.trim()).filter((line) => /^[@\w]/.test(line));
  return names.flatMap((name) => (name.startsWith('@') ? callsOf(name) : [name]));
}

const canTrace = analyze !== undefined && spawnSync('strace', ['-V']).status === 0;
const noTrace = canTrace ? '' : ' (left out: there is no strace here)';
const sandboxed = ['--unshare-all', '--unshare-user', '--uid', '1000', '--gid', '1000'];

describe.skipIf(!canTrace)(`the filter of system calls${noTrace}`, () => {
  const bubblewrap = ['bwrap', ...sandboxed, '--disable-userns', '--hostname', 'agent'];
  const command = [...bubblewrap, '--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev', 'ls'];
  const canSandbox = spawnSync(command[0]!, command.slice(1)).status === 0;

  it.skipIf(!canSandbox)('permits what bubblewrap does, which needs each of its parts', () => {
    const folder = scratchFolder();
    const unit = systemdUnit(describeIn(folder));
    expect(deniedCalls(unit, command, folder)).toEqual([]);
    expect(deniedCalls(unit.replace(' sethostname', ''), command, folder)).toEqual(['sethostname']);
    expect(deniedCalls(unit.replace(' @mount', ''), command, folder)).toContain('pivot_root');
  });

  it('permits what Node does', () => {
    const folder = scratchFolder();
    const unit = systemdUnit(describeIn(folder));
    const script =
      "require('node:fs').readdirSync('/'); fetch('http://127.0.0.1:1').catch(() => {})";
    expect(deniedCalls(unit, [process.execPath, '-e', script], folder)).toEqual([]);
  });
});

it('the options that would break V8 or bubblewrap are left out', () => {
  const units = [
    systemdUnit(describeIn(scratchFolder())),
    systemdUnit(describeIn(scratchFolder(), { system: true, runAs: 'troupe' })),
  ];
  for (const unit of units) {
    expect(unit).not.toMatch(/MemoryDenyWriteExecute|RestrictNamespaces|ProtectKernelTunables/);
    expect(unit).not.toMatch(/ProtectProc|ProcSubset|ProtectKernelLogs|ProtectHostname/);
    expect(unit).not.toMatch(/Type=notify|WatchdogSec/);
    expect(unit).toContain('NoNewPrivileges=yes');
  }
  expect(units[1]).toContain('ProtectSystem=strict');
});

it('the time to stop is above the time of a hand-over', () => {
  const home = scratchFolder();
  write(home, 'troupe.json5', '{ cluster: { drainSeconds: 300 } }');
  expect(systemdUnit(describeIn(home))).toContain('TimeoutStopSec=320\n');
});

it('a user whose name has two lines is refused', () => {
  const runAs = 'www-data\nExecStartPre=/bin/true';
  expect(() => describeIn(scratchFolder(), { system: true, runAs })).toThrow('control character');
});

describe('the commands', { timeout: 120_000 }, () => {
  it('install twice, report, uninstall, and keep the data', async () => {
    const home = awkwardFolder();
    const run = (...args: string[]) => runProgram(['service', ...args, '--json'], { home });
    const port = await reservePort();
    const first = await run('install', '--no-start', '--port', String(port));
    expect(first).toMatchObject({ code: 0 });
    const { file, data, changed, started } = JSON.parse(first.stdout) as Record<string, string>;
    expect([changed, started]).toEqual([true, false]);
    expect(data).toBe(join(home, '.troupe'));
    const unit = readFileSync(file!, 'utf8');
    expect(file).toBe(join(home, '.config/systemd/user/troupe.service'));
    expect(wordsOf(unit).slice(0, 1)).toEqual([process.execPath]);
    expect(wordsOf(unit).slice(1)).toEqual([
      expect.stringMatching(/\/bin\/troupe\.js$/),
      'start',
      '--data',
      data,
      '--port',
      String(port),
    ]);
    expect(statSync(join(data!, 'service.env')).mode & 0o777).toBe(0o600);

    write(data!, 'service.env', 'OPENAI_API_KEY=mine\n');
    const second = await run('install', '--no-start', '--port', String(port));
    expect(JSON.parse(second.stdout)).toMatchObject({ changed: false });
    expect(readFileSync(join(data!, 'service.env'), 'utf8')).toBe('OPENAI_API_KEY=mine\n');
    expect(readFileSync(file!, 'utf8')).toBe(unit);
    const asked = await run('status', '--port', String(port));
    expect(asked.code).toBe(1);
    expect(JSON.parse(asked.stdout)).toMatchObject({
      installed: true,
      current: true,
      ready: false,
    });

    const removed = await runProgram(['service', 'uninstall'], { home });
    expect(removed.stdout).toContain(`The data stays in ${data}`);
    expect([existsSync(file!), existsSync(join(data!, 'service.env'))]).toEqual([false, true]);
    expect((await run('uninstall')).code).toBe(0);
  });

  it('prints without writing, and never replaces a file of another', async () => {
    const home = scratchFolder();
    const printed = await runProgram(
      ['service', 'install', '--print', '--process', 'worker', '--nats', 'nats://n:4222'],
      { home },
    );
    expect(printed.stdout).toContain('"worker"');
    expect(printed.stdout).toContain('"--nats" "nats://n:4222"');
    expect(printed.stdout).toContain('systemctl --user edit troupe-worker');
    const unnamed = ['service', 'install', '--print', '--process', 'worker'];
    expect(await runProgram(unnamed, { home })).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('no NATS server is configured'),
    });
    const variables = scratchFolder();
    write(variables, 'service.env', 'TROUPE_NATS_URL=""\n');
    expect(await runProgram([...unnamed, '--data', variables], { home })).toMatchObject({
      code: 2,
    });
    write(variables, 'service.env', 'TROUPE_NATS_URL="nats://n:4222"\n');
    expect(await runProgram([...unnamed, '--data', variables], { home })).toMatchObject({
      code: 0,
    });
    const secret = ['service', 'install', '--print', '--nats', 'nats://ada:s3cret@n:4222'];
    expect(await runProgram(secret, { home })).toMatchObject({ code: 2, stdout: '' });
    expect(existsSync(join(home, '.config'))).toBe(false);
    const file = write(home, '.config/systemd/user/troupe.service', '[Service]\nExecStart=/mine\n');
    const refused = await runProgram(['service', 'install', '--no-start'], { home });
    expect(refused.stderr).toContain('--force');
    expect(refused.code).toBe(2);
    expect((await runProgram(['service', 'uninstall'], { home })).code).toBe(2);
    expect(readFileSync(file, 'utf8')).toContain('/mine');
    rmSync(file);
    const other = write(home, 'other', 'mine');
    symlinkSync(other, file);
    expect((await runProgram(['service', 'install', '--no-start', '--force'], { home })).code).toBe(
      0,
    );
    expect(readFileSync(other, 'utf8')).toBe('mine');
    expect(readFileSync(file, 'utf8')).toContain('ExecStart=');
  });
});

/** Waits for a server, stops it with SIGTERM, and returns how it ended. */
async function startedAndStopped(words: readonly string[], port: number, cwd: string) {
  const env = { PATH: process.env['PATH'], HOME: cwd };
  const child = spawn(words[0]!, words.slice(1), { cwd, env, stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  await eventually(async () => {
    expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
  });
  const { status: page } = await fetch(`http://127.0.0.1:${port}/v1/agents`);
  child.kill('SIGTERM');
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  return { code, signal, page };
}

describe('the command line of the file', { timeout: 120_000 }, () => {
  it('starts troupe from systemd’s file, and ends it in order', async () => {
    const home = awkwardFolder();
    const port = await reservePort();
    const { stdout } = await runProgram(
      ['service', 'install', '--print', '--data', home, '--port', String(port)],
      { home },
    );
    expect(await startedAndStopped(wordsOf(stdout), port, home)).toEqual({
      code: 0,
      signal: null,
      page: 401,
    });
  });

  it('starts troupe from launchd’s file with the variables of its own', async () => {
    const home = awkwardFolder();
    const port = await reservePort();
    const service = describeIn(home);
    const bundle = join(import.meta.dirname, '../../bin/troupe.js');
    const command = [process.execPath, bundle, ...service.command.slice(2)];
    const text = launchdList({ ...service, command, user: 'a & b' });
    const read =
      'import json,plistlib,sys; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))';
    const list = JSON.parse(
      execFileSync('python3', ['-c', read], { input: text, encoding: 'utf8' }),
    ) as {
      ProgramArguments: string[];
      KeepAlive: object;
      UserName: string;
      WorkingDirectory: string;
    };
    expect(list).toMatchObject({
      UserName: 'a & b',
      WorkingDirectory: home,
      KeepAlive: { SuccessfulExit: false },
    });
    // without the variable the port would be another one
    write(home, 'service.env', `TROUPE_PORT=${port}\n`);
    const end = await startedAndStopped(list.ProgramArguments, port, home);
    expect(end).toEqual({ code: 0, signal: null, page: 401 });
  });
});
