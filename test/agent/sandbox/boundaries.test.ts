import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createBubblewrap, probeBubblewrap, remedyFor } from '../../../agent/sandbox/bubblewrap.ts';
import { createSandbox, findSandbox } from '../../../agent/sandbox/choose.ts';
import { dockerArguments } from '../../../agent/sandbox/docker-arguments.ts';
import { createDocker, probeDocker } from '../../../agent/sandbox/docker.ts';
import { createHostBoundary } from '../../../agent/sandbox/host.ts';
import { eventually } from '../../runtime/eventually.ts';
import { describeBoundary } from './contract.ts';
import { commandOf, runIn } from './run.ts';

const noBubblewrap = await probeBubblewrap();
describeBoundary('bubblewrap', createBubblewrap, noBubblewrap);
describeBoundary('Docker', createDocker, await probeDocker());

let scratch = '';
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'troupe-boundaries-'));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

describe('the host boundary', () => {
  const host = createHostBoundary();

  it('runs in the workspace with the given environment, and nothing of troupe’s', async () => {
    process.env['TROUPE_TEST_SECRET'] = 'hunter2';
    try {
      const ran = await runIn(host, 'pwd; env', { workspace: scratch, env: { GIVEN: 'yes' } });
      expect(ran.out.split('\n')[0]).toBe(scratch);
      expect(ran.out).toContain('GIVEN=yes');
      expect(ran.out).not.toContain('hunter2');
    } finally {
      delete process.env['TROUPE_TEST_SECRET'];
    }
  });

  it('ends a child that left its session and its parent, on timeout', async () => {
    const script =
      "setsid sh -c '(while :; do date > alive; sleep 0.02; done) & ' </dev/null >/dev/null 2>&1 & " +
      'while [ ! -s alive ]; do sleep 0.01; done; sleep 30';
    const ran = await runIn(host, script, { workspace: scratch, limits: { timeoutMs: 1_500 } });
    expect(ran.ended).toBe('timeout');
    rmSync(join(scratch, 'alive'));
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(existsSync(join(scratch, 'alive'))).toBe(false);
  });

  it('reports a missing program or workspace', async () => {
    const command = { ...commandOf(''), argv: ['/nowhere/at/all'] };
    const running = await host.run(command);
    running.stdout.resume();
    expect(await text(running.stderr)).toContain('/nowhere/at/all');
    expect(await running.end).toEqual({ code: 127, ended: 'exit' });
    const nowhere = commandOf('true', { workspace: '/nowhere/at/all' });
    await expect(host.run(nowhere)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});

const beater = (file: string) => `while :; do date > ${file}; sleep 0.02; done`;
/** Starts one that leaves its session and its parent. */
const leaver = `setsid sh -c '(${beater('gone')}) &' </dev/null >/dev/null 2>&1;`;

/** A process of its own that starts a command and is then killed like a worker that dies. */
describe('the death of troupe', () => {
  const boundaries = [
    ['bubblewrap', 'createBubblewrap', noBubblewrap],
    ['host', 'createHostBoundary', undefined],
  ] as const;
  it.each(boundaries.filter(([, , skip]) => skip === undefined))(
    'ends the commands behind %s with it',
    async (file, create) => {
      const parts = join(import.meta.dirname, '../../../agent/sandbox');
      const outfile = join(scratch, `${file}.mjs`);
      await build({
        stdin: {
          contents: `import { ${create} } from ${JSON.stringify(join(parts, `${file}.ts`))};
            import { DEFAULT_LIMITS } from ${JSON.stringify(join(parts, 'supervised.ts'))};
            await ${create}().run({
              argv: ['/bin/sh', '-c', ${JSON.stringify(`${leaver} ${beater('beat')}`)}],
              workspace: ${JSON.stringify(scratch)}, access: 'rw', limits: DEFAULT_LIMITS,
              signal: new AbortController().signal,
            });`,
          resolveDir: parts,
        },
        bundle: true,
        platform: 'node',
        format: 'esm',
        outfile,
        logLevel: 'error',
      });
      const worker = spawn(process.execPath, [outfile], { stdio: 'ignore' });
      const beats = ['beat', 'gone'].map((name) => join(scratch, name));
      const beating = () => beats.filter((beat) => existsSync(beat));
      await eventually(() => expect(beating()).toEqual(beats));
      worker.kill('SIGKILL');
      await eventually(async () => {
        for (const beat of beats) rmSync(beat, { force: true });
        await new Promise((resolve) => setTimeout(resolve, 200));
        expect(beating()).toEqual([]);
      });
    },
  );
});

describe('the choice of a boundary', () => {
  it('fails when no boundary works, with an error that says what to do, and is tried again at the next call', async () => {
    let tries = 0;
    const sandbox = createSandbox({}, async () => {
      tries++;
      return tries === 1 ? { missing: 'install it' } : { boundary: createHostBoundary() };
    });
    const refused = await runIn(sandbox, 'true').catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'UNAVAILABLE', details: { reason: 'no_sandbox' } });
    expect(String(refused)).toContain('install it');
    expect((await runIn(sandbox, 'true')).code).toBe(0);
    await runIn(sandbox, 'true');
    expect(tries).toBe(2);
  });

  it.skipIf(noBubblewrap !== undefined)('is bubblewrap where it works', async () => {
    expect(await findSandbox()).toMatchObject({ boundary: { kind: 'bubblewrap' } });
  });

  it('reports a missing image or an engine that does not respond', async () => {
    expect(await probeDocker('troupe-test/no-such-image')).toMatch(/Docker/);
  });

  it('reports what bubblewrap lacks', () => {
    expect(remedyFor('bwrap: No permissions to create new namespace')).toContain('docs/sandbox.md');
    expect(remedyFor('bwrap: Unknown option --disable-userns')).toContain('0.8');
    expect(remedyFor('bwrap: execvp prlimit: No such file')).toContain('util-linux');
  });
});

describe('the arguments of Docker', () => {
  const container = { name: 'troupe-1', image: 'debian:12-slim', user: '1000:1000' };

  it('mount only the workspace, and limit everything', () => {
    const command = commandOf('true', {
      workspace: '/data/a "b", c',
      access: 'ro',
      cwd: 'sub',
      env: { TOKEN: 'hunter2', PATH: '/opt/bin' },
      limits: { timeoutMs: 10_000, memoryBytesMax: 64e6, processesMax: 9, fileBytesMax: 5 },
    });
    const line = dockerArguments(command, container);
    const options = line.join(' ');
    for (const part of [
      '--network none',
      '--read-only --cap-drop ALL --security-opt no-new-privileges',
      '--memory 64000000 --memory-swap 64000000 --pids-limit 9',
      '--ulimit fsize=5',
      '--user 1000:1000',
      '--pull never',
      '--workdir /workspace/sub',
      '--entrypoint timeout debian:12-slim -s KILL 15 /bin/sh -c true',
    ]) {
      expect(options).toContain(part);
    }
    expect(line).toContain('type=bind,"source=/data/a ""b"", c",target=/workspace,readonly');
    expect(line.filter((part) => part.includes('/data'))).toHaveLength(1);
  });

  it('name secrets without their values, and pass variables of the client by value', () => {
    const command = commandOf('true', { env: { TOKEN: 'hunter2', PATH: '/opt/bin' } });
    const line = dockerArguments(command, container);
    expect(line.join(' ')).not.toContain('hunter2');
    expect(line).toEqual(expect.arrayContaining(['TOKEN', 'PATH=/opt/bin', 'HOME=/home/agent']));
  });

  it('allow the network only on request, and mount no workspace when there is none', () => {
    const line = dockerArguments(commandOf('true', { network: true, access: 'none' }), container);
    expect(line.join(' ')).toContain('--network bridge');
    expect(line).not.toContain('--mount');
  });
});
