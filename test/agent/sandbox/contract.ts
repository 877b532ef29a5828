/** The contract of `boundary.ts`, for every boundary that isolates commands. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Boundary } from '../../../agent/sandbox/boundary.ts';
import { eventually } from '../../runtime/eventually.ts';
import { commandOf, runIn } from './run.ts';

/** `skip`: why it cannot run here. */
export function describeBoundary(
  name: string,
  create: () => Boundary,
  skip: string | undefined,
): void {
  describe.skipIf(skip !== undefined)(`${name}${skip ? ` (skipped: ${skip})` : ''}`, () => {
    const boundary = create();
    let scratch = '';
    let workspace = '';
    beforeAll(() => {
      scratch = mkdtempSync(join(tmpdir(), 'troupe-boundary-'));
      workspace = mkdtempSync(join(scratch, 'workspace-'));
      writeFileSync(join(scratch, 'secret.txt'), 'of the host');
    });
    afterAll(() => rmSync(scratch, { recursive: true, force: true }));

    inside(boundary, () => workspace);
    escapes(boundary, () => ({ workspace, scratch }));
    bounds(boundary);
    endings(boundary, () => workspace);
  });
}

function inside(boundary: Boundary, workspaceNow: () => string): void {
  it('runs a command in the workspace, with its output, its input and its exit code', async () => {
    const workspace = workspaceNow();
    const ran = await runIn(boundary, 'pwd; echo made > made.txt; echo wrong >&2; exit 3', {
      workspace,
    });
    expect(ran).toEqual({ code: 3, ended: 'exit', out: '/workspace\n', error: 'wrong\n' });
    expect(readFileSync(join(workspace, 'made.txt'), 'utf8')).toBe('made\n');
    const reading = await boundary.run(commandOf('cat', { workspace }));
    reading.stdin.end('from outside');
    expect(await text(reading.stdout)).toBe('from outside');
    expect(await reading.end).toEqual({ code: 0, ended: 'exit' });
  });

  it('has its environment, which no list of processes shows', async () => {
    const running = await boundary.run(
      commandOf('echo "$SECRET"; cat', { env: { SECRET: 'hunter2-of-a-skill' } }),
    );
    let said = '';
    running.stdout.on('data', (chunk: Buffer) => (said += String(chunk)));
    await eventually(() => expect(said).toBe('hunter2-of-a-skill\n'));
    const lists = readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
      .map((name) => commandLineOf(name));
    expect(lists.filter((list) => list.includes('hunter2-of-a-skill'))).toEqual([]);
    running.stdin.end();
    await running.end;
  });

  it('starts in the requested folder, and has programs, user names and a home', async () => {
    const workspace = workspaceNow();
    await runIn(boundary, 'mkdir -p sub/folder', { workspace });
    const ran = await runIn(boundary, 'pwd; cd; pwd; echo x > kept && cat kept; whoami', {
      workspace,
      cwd: 'sub/folder',
    });
    expect(ran.out.split('\n').slice(0, 3)).toEqual(['/workspace/sub/folder', '/home/agent', 'x']);
  });

  it('cannot write to a read-only workspace, and cannot see a forbidden one', async () => {
    const workspace = workspaceNow();
    writeFileSync(join(workspace, 'there.txt'), 'there');
    const reading = await runIn(boundary, 'cat there.txt; echo no > there.txt', {
      workspace,
      access: 'ro',
    });
    expect(reading.out).toBe('there');
    expect(reading.error).toMatch(/read-only/i);
    expect(readFileSync(join(workspace, 'there.txt'), 'utf8')).toBe('there');
    const none = await runIn(boundary, 'pwd; ls /workspace', { workspace, access: 'none' });
    expect(none.out).toBe('/home/agent\n');
    expect(none.code).not.toBe(0);
  });

  it('passes the given environment and nothing of troupe’s', async () => {
    process.env['TROUPE_TEST_SECRET'] = 'hunter2';
    try {
      const ran = await runIn(boundary, 'env; cat /proc/*/environ 2>/dev/null | tr "\\0" "\\n"', {
        env: { GIVEN: 'a value, with=signs "and quotes"' },
      });
      expect(ran.out).toContain('GIVEN=a value, with=signs "and quotes"');
      expect(ran.out).not.toContain('hunter2');
      expect(ran.out).toContain('HOME=/home/agent');
    } finally {
      delete process.env['TROUPE_TEST_SECRET'];
    }
  });
}

/** What a descriptor may refer to: nothing that has a name on the host. */
const NAMELESS = /^(pipe:|socket:|anon_inode:|\/dev\/null$|\/proc\/\d+\/fd$)/;

function escapes(
  boundary: Boundary,
  foldersNow: () => { readonly workspace: string; readonly scratch: string },
): void {
  it('shows nothing of troupe in the environment and the folder of its first process', async () => {
    const was = process.env['PATH'];
    process.env['PATH'] = `/opt/of-troupe-alone:${was}`;
    try {
      const script = 'tr "\\0" "\\n" < /proc/1/environ; readlink /proc/1/cwd; cat /proc/1/cmdline';
      const ran = await runIn(boundary, script);
      expect(ran.out).not.toContain('of-troupe-alone');
      expect(ran.out).not.toContain(process.cwd());
    } finally {
      process.env['PATH'] = was;
    }
  });

  it('bug: the descriptors of its first process named temporary files of the host', async () => {
    const ran = await runIn(boundary, 'readlink /proc/1/fd/* /proc/self/fd/*');
    const shown = ran.out.split('\n').filter((line) => line !== '');
    expect(shown.length).toBeGreaterThan(5);
    expect(shown.filter((line) => !NAMELESS.test(line))).toEqual([]);
  });

  it('reaches no file of the host: by path, by .., by a link or through /proc', async () => {
    const { workspace, scratch } = foldersNow();
    const secret = join(scratch, 'secret.txt');
    const tries = [
      `cat ${secret}`,
      'cat ../secret.txt',
      `ln -sf ${secret} link; cat link`,
      `ln ${secret} hard; cat hard`,
      `cat /proc/1/root${secret}`,
      `cat /proc/self/root${secret}`,
      `cat /proc/1/cwd/../secret.txt`,
      'cat /etc/shadow',
      'ls /root',
      `cat ${process.cwd()}/package.json`,
    ];
    for (const script of tries) {
      const ran = await runIn(boundary, script, { workspace });
      expect({ script, out: ran.out, read: ran.code === 0 }).toEqual({
        script,
        out: '',
        read: false,
      });
    }
  });

  it('writes nothing outside the workspace and its own temporary folders', async () => {
    const { workspace, scratch } = foldersNow();
    const before = readdirSync(scratch);
    for (const place of [`${scratch}/x`, '/x', '/usr/x', '/etc/x', '/dev/x', '/proc/sys/x']) {
      const ran = await runIn(boundary, `echo x > ${place}`, { workspace });
      expect({ place, written: ran.code === 0 }).toEqual({ place, written: false });
    }
    const own = await runIn(boundary, 'echo x > /tmp/troupe-own-file && cat /tmp/troupe-own-file');
    expect(own.out).toBe('x\n');
    expect(existsSync('/tmp/troupe-own-file')).toBe(false);
    expect(readdirSync(scratch)).toEqual(before);
  });

  it('neither sees nor ends processes of the host, and gets no privileges', async () => {
    const ran = await runIn(
      boundary,
      `kill -9 ${process.pid} || echo none; grep -E "^(CapEff|NoNewPrivs)" /proc/self/status; ` +
        'mount -t tmpfs none /tmp || echo no mount; unshare -Ur true || echo no namespace',
    );
    expect(ran.out).toContain('none\n');
    expect(ran.out).toMatch(/CapEff:\s+0+\n/);
    expect(ran.out).toMatch(/NoNewPrivs:\s+1\n/);
    expect(ran.out).toContain('no mount\n');
    expect(ran.out).toContain('no namespace\n');
  });

  it('reaches no server of the host', async () => {
    let asked = 0;
    const server = createServer((_, response) => {
      asked++;
      response.end('of the host');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = server.address() as AddressInfo;
      const ran = await runIn(
        boundary,
        `exec 3<>/dev/tcp/127.0.0.1/${port} && printf 'GET / HTTP/1.0\\n\\n' >&3 && cat <&3`.replace(
          /^.*$/s,
          (script) => `bash -c ${JSON.stringify(script)}`,
        ),
      );
      expect(ran.out).toBe('');
      expect(ran.code).not.toBe(0);
      expect(asked).toBe(0);
    } finally {
      server.close();
    }
  });
}

function bounds(boundary: Boundary): void {
  it('stops a fork bomb', async () => {
    const ran = await runIn(boundary, 'f() { f | f & }; f; sleep 20', {
      limits: { processesMax: 64, timeoutMs: 2_000 },
    });
    // the kernel refuses to fork, or ends all of the command
    expect(ran.ended === 'processes' || /fork|resource/i.test(ran.error)).toBe(true);
  });

  it('stops commands that use too much memory, in one process or in many', async () => {
    const hog = 'x=$(head -c 400000000 /dev/zero | tr "\\0" x); echo held';
    const one = await runIn(boundary, hog, { limits: { memoryBytesMax: 100e6 } });
    expect(one.out).not.toContain('held');
    const each = `(x=$(head -c 30000000 /dev/zero | tr "\\0" x); sleep 20; echo held $x) & `;
    const many = await runIn(boundary, `${each.repeat(8)} wait`, {
      limits: { memoryBytesMax: 100e6 },
    });
    expect(many.out).not.toContain('held');
    expect(many.ended === 'memory' || many.code === 137).toBe(true);
  });

  it('limits the size of a file and of temporary files', async () => {
    const ran = await runIn(
      boundary,
      'head -c 3000000 /dev/zero > f; stat -c %s f; ' +
        'for i in 1 2 3 4 5; do head -c 60000000 /dev/zero > /tmp/$i || echo full; done',
      { limits: { fileBytesMax: 1_000_000 } },
    );
    expect(ran.out).not.toContain('3000000');
    const temporary = await runIn(
      boundary,
      'for i in 1 2 3 4 5; do head -c 60000000 /dev/zero > /tmp/$i || echo full; done',
    );
    expect(temporary.out).toContain('full');
  });
}

function endings(boundary: Boundary, workspaceNow: () => string): void {
  /** A process detached from its parents that writes the time into a file until it ends. */
  const survivor = (file: string) =>
    `setsid sh -c '(while :; do date +%N > ${file}; sleep 0.02; done) & ' ` +
    `</dev/null >/dev/null 2>&1 & while [ ! -s ${file} ]; do sleep 0.01; done; `;

  /** Nothing is written after the end; a surviving writer would write within 20 ms. */
  const staysAsItIs = async (file: string) => {
    rmSync(file);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(existsSync(file)).toBe(false);
  };

  it('ends a command on timeout with all its processes, including those in other sessions', async () => {
    const workspace = workspaceNow();
    const ran = await runIn(boundary, `${survivor('timed')} sleep 30`, {
      workspace,
      limits: { timeoutMs: 1_500 },
    });
    expect(ran).toMatchObject({ code: null, ended: 'timeout' });
    await staysAsItIs(join(workspace, 'timed'));
  });

  it('leaves no process running after the command has ended', async () => {
    const workspace = workspaceNow();
    const ran = await runIn(boundary, `${survivor('left')} exit 0`, { workspace });
    expect(ran).toMatchObject({ code: 0, ended: 'exit' });
    await staysAsItIs(join(workspace, 'left'));
  });

  it('ends a command when its signal is aborted, before or after the start, and by kill', async () => {
    const workspace = workspaceNow();
    const abort = new AbortController();
    const running = await boundary.run(
      commandOf(`${survivor('aborted')} sleep 30`, { workspace, signal: abort.signal }),
    );
    running.stdout.resume();
    running.stderr.resume();
    await eventually(() => expect(existsSync(join(workspace, 'aborted'))).toBe(true));
    abort.abort();
    expect(await running.end).toEqual({ code: null, ended: 'aborted' });
    await staysAsItIs(join(workspace, 'aborted'));
    const late = await runIn(boundary, 'sleep 30', { signal: abort.signal });
    expect(late.ended).toBe('aborted');
    const killed = await boundary.run(commandOf('sleep 30'));
    killed.kill();
    expect(await killed.end).toEqual({ code: null, ended: 'signal' });
  });
}

/** '' when it has ended meanwhile. */
function commandLineOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
