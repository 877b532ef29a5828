/**
 * The whole program as a process: start, stop, failures of the start, and a kill during an answer.
 */
import { createServer } from 'node:net';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../runtime/eventually.ts';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { announced, type RunOptions, runProgram, type Started, startProgram } from './program.ts';

type Announcement = { readonly url: string; readonly pid: number; readonly version: string };

/** Resolves when the program has printed that it is ready. */
async function startTroupe(
  args: readonly string[],
  options: RunOptions = {},
): Promise<Started & Announcement> {
  const program = startProgram(['start', '--json', ...args], options);
  return Object.assign(program, await announced<Announcement>(program));
}

const tokenOf = (url: string) => /#token=([\w-]+)$/.exec(url)?.[1] ?? '';

describe('troupe start', () => {
  it('prints one URL with a token, serves it, and stops cleanly at SIGTERM', async () => {
    const program = startProgram(['start', '--port', '0']);
    const url = await eventually(() => {
      const found = /http:\S+/.exec(program.stdout)?.[0];
      if (!found) throw new Error(`it is not ready: ${program.stderr}`);
      return found;
    });
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#token=[\w-]{43}$/);
    expect(program.stdout.match(/http:/g)).toHaveLength(1);
    const { origin } = new URL(url);
    expect((await fetch(`${origin}/readyz`)).status).toBe(200);
    program.child.kill('SIGTERM');
    expect(await program.ended).toMatchObject({ code: 0 });
    await expect(fetch(`${origin}/readyz`)).rejects.toThrow('fetch failed');
  });

  it('bug: commands in another terminal needed the variables of its messengers', async () => {
    const home = scratchFolder();
    const port = String(await reservePort());
    const account = "{ secret: { env: 'ONLY_HERE' }, url: 'http://127.0.0.1:9/' }";
    const file = `{ channels: { webhook: { accounts: { ci: ${account} } } } }`;
    write(home, '.troupe/troupe.json5', file);
    const secret = 'x'.repeat(32);
    await startTroupe(['--port', port], { home, env: { ONLY_HERE: secret } });
    const elsewhere = { home, env: { TROUPE_PORT: port } };
    for (const args of [['agent', '-m', 'hi'], ['channels'], ['health'], ['open', '--no-browser']])
      expect(await runProgram(args, elsewhere)).toMatchObject({ code: 0, stderr: '' });
    expect(await runProgram(['upgrade', 'status'], elsewhere)).toMatchObject({ code: 0 });
    const machine = startProgram(['node', 'run', '--exec', 'off'], elsewhere);
    await eventually(() => expect(machine.stdout).toContain('connected'));
    const check = await runProgram(['config', 'check'], elsewhere);
    expect(check).toMatchObject({ code: 2 });
    expect(check.stderr).toContain('the environment variable ONLY_HERE is not set');
  });

  it('stops cleanly at SIGTERM and ends a background command', async () => {
    const home = scratchFolder();
    const port = String(await reservePort());
    write(home, '.troupe/troupe.json5', "{ tools: { exec: { ask: 'off' } } }");
    const program = await startTroupe(['--port', port], { home });
    const file = join(home, 'pid');
    const command = `echo $$ > ${file}; exec sleep 600`;
    const call = `call exec ${JSON.stringify({ command, background: true })}`;
    const env = { TROUPE_PORT: port };
    const answer = await runProgram(['agent', '-m', call, '--json'], { home, env });
    expect(JSON.parse(answer.stdout)).toMatchObject({ status: 'ok' });
    expect(answer.stdout).toContain('runs in the background');
    const pid = await eventually(() => {
      expect(readFileSync(file, 'utf8')).toMatch(/\d\n/);
      return Number(readFileSync(file, 'utf8'));
    });
    process.kill(pid, 0);
    program.child.kill('SIGTERM');
    expect(await program.ended).toMatchObject({ code: 0 });
    await eventually(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'));
  });

  it('warns that several people would share the main session', async () => {
    const home = scratchFolder();
    const account = "{ secret: 'a text of 24 characters!', dmPolicy: 'open' }";
    const channels = `{ webhook: { accounts: { main: ${account} } } }`;
    write(home, '.troupe/troupe.json5', `{ channels: ${channels} }`);
    const program = await startTroupe(['--port', '0'], { home });
    await eventually(() =>
      expect(program.stderr + program.stdout).toMatch(
        /session\.dmScope = \\"main\\": everyone who may write to webhook:main/,
      ),
    );
  });

  it('keeps token, sessions and answers after a restart, and commands find it by its data folder', async () => {
    const home = scratchFolder();
    const port = String(await reservePort());
    const first = await startTroupe(['--port', port], { home });
    const env = { TROUPE_PORT: port };
    const args = ['agent', '-m', 'hello', '--run-id', 'r1', '--json'];
    const answer = await runProgram(args, { home, env });
    expect(JSON.parse(answer.stdout)).toMatchObject({ runId: 'r1', status: 'ok' });
    first.child.kill('SIGINT');
    expect(await first.ended).toMatchObject({ code: 0 });
    const second = await startTroupe(['--port', port], { home });
    expect(second.url).toBe(first.url);
    expect(await runProgram(args, { home, env })).toEqual(answer);
    const sessions = await runProgram(['sessions', '--json'], { home, env });
    expect(JSON.parse(sessions.stdout)).toMatchObject({ sessions: [{ key: 'agent:main:main' }] });
  });

  it('does not open a data folder that another process uses, and names that process', async () => {
    const home = scratchFolder();
    const first = await startTroupe(['--port', '0'], { home });
    const second = await runProgram(['start', '--port', '0'], { home });
    expect(second).toMatchObject({ code: 6, stdout: '' });
    expect(second.stderr).toContain(`in process ${first.pid}: ${new URL(first.url).origin}/\n`);
    expect(second.stderr).toContain('troupe open');
    expect((await fetch(`${new URL(first.url).origin}/readyz`)).status).toBe(200);
  });

  it('is found by commands on any port, until it ends', async () => {
    const home = scratchFolder();
    const noted = join(home, '.troupe/gateway.json');
    const first = await startTroupe(['--port', '0'], { home });
    const sessions = await runProgram(['sessions', '--json'], { home });
    expect(JSON.parse(sessions.stdout)).toMatchObject({ sessions: [] });
    const opened = await runProgram(['open', '--no-browser', '--json'], { home });
    expect(JSON.parse(opened.stdout)).toEqual({ url: first.url, opened: false });
    expect(readFileSync(noted, 'utf8')).not.toContain(tokenOf(first.url));
    expect(await runProgram(['health'], { home })).toMatchObject({ code: 0 });
    // A port that is given wins.
    const other = String(await reservePort());
    expect(await runProgram(['sessions', '--port', other], { home })).toMatchObject({ code: 3 });
    first.child.kill('SIGTERM');
    await first.ended;
    expect(existsSync(noted)).toBe(false);
    const second = await startTroupe(['--port', '0'], { home });
    second.child.kill('SIGKILL');
    await second.ended;
    expect(existsSync(noted)).toBe(true);
    const free = { TROUPE_PORT: String(await reservePort()) };
    for (const env of [{}, free]) {
      const gone = await runProgram(['open', '--no-browser'], { home, env });
      expect(gone).toMatchObject({ code: 3, stdout: '' });
    }
  });

  it('runs where its address cannot be written, and says so', async () => {
    const home = scratchFolder();
    mkdirSync(join(home, '.troupe/gateway.json'), { recursive: true });
    const program = await startTroupe(['--port', '0'], { home });
    expect(program.stderr).toContain('gateway.json (EISDIR): other commands need --port');
    program.child.kill('SIGTERM');
    expect(await program.ended).toMatchObject({ code: 0 });
    expect(readdirSync(join(home, '.troupe')).filter((name) => name.endsWith('.new'))).toEqual([]);
  });

  it('is not taken for a later process with its id, or for an address elsewhere', async () => {
    const home = scratchFolder();
    const port = await reservePort();
    const running = { url: `http://127.0.0.1:${port}/`, pid: process.pid, host: hostname() };
    for (const noted of [
      { ...running, began: '1' },
      { ...running, url: 'http://example.org/' },
      { ...running, url: 'javascript:alert(1)' },
    ]) {
      write(home, '.troupe/gateway.json', JSON.stringify(noted));
      const config = write(home, 'own.json5', `{ gateway: { port: ${await reservePort()} } }`);
      const ended = await runProgram(['sessions', '--config', config], { home });
      expect(ended).toMatchObject({ code: 3, stdout: '' });
      expect(ended.stderr).not.toContain(`${port}`);
      expect(ended.stderr).not.toContain('example.org');
    }
  });

  it('makes the folders of own hooks, skills and plugins, unless they are configured', async () => {
    const home = scratchFolder();
    write(home, '.troupe/troupe.json5', "{ skills: { folder: './texts' } }");
    await startTroupe(['--port', '0'], { home });
    const made = readdirSync(join(home, '.troupe'));
    expect(made).toEqual(expect.arrayContaining(['extensions', 'hooks']));
    expect(made).not.toContain('skills');
  });

  it('reports whether another program or troupe uses the port', async () => {
    const other = createServer((socket) => socket.end());
    onTestFinished(() => void other.close());
    other.listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    const taken = await runProgram(['start', '--port', String(port)]);
    expect(taken).toMatchObject({ code: 6, stdout: '' });
    expect(taken.stderr).toContain(
      `port ${port} is in use. another program uses it: start with --port`,
    );
    const running = await startTroupe(['--port', '0']);
    const again = await runProgram(['start', '--port', new URL(running.url).port]);
    expect(again).toMatchObject({ code: 6 });
    expect(again.stderr).toContain('troupe already runs there');
  });

  it('refuses a wrong configuration before it touches anything', async () => {
    const home = scratchFolder();
    const file = write(home, 'wrong.json5', "{ gateway: { bind: 'lan', auth: { mode: 'none' } } }");
    const ended = await runProgram(['start', '--config', file], { home });
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toContain(`gateway.auth.mode = "none" (${file}:1:`);
  });

  it('uses the configured token, and refuses clients without it', async () => {
    const home = scratchFolder();
    const port = String(await reservePort());
    const { url } = await startTroupe(['--port', port, '--token', 'my-own-token'], { home });
    expect(tokenOf(url)).toBe('my-own-token');
    const refused = await runProgram(['sessions', '--port', port, '--token', 'x'], { home });
    expect(refused).toMatchObject({ code: 4 });
    const known = await runProgram(['sessions', '--port', port, '--token', 'my-own-token'], {
      home,
    });
    expect(known).toMatchObject({ code: 0 });
  });
});

describe('kill -9 in the middle of an answer', () => {
  it('results in one run and one answer for the waiting client', async () => {
    const home = scratchFolder();
    const port = String(await reservePort());
    const slow = { TROUPE_OFFLINE_TOKENS_PER_SECOND: '20' };
    const first = await startTroupe(['--port', port], { home, env: slow });
    const message = 'Tell me in many words what you are and what you can do.';
    const agent = startProgram(['agent', '-m', message, '--run-id', 'r9', '--port', port], {
      home,
    });
    await eventually(() => expect(agent.stdout).not.toBe(''));
    first.child.kill('SIGKILL');
    await first.ended;
    await startTroupe(['--port', port], { home });
    const { code, stdout } = await agent.ended;
    expect(code).toBe(0);
    const again = ['agent', '-m', message, '--run-id', 'r9', '--port', port, '--json'];
    const result = JSON.parse((await runProgram(again, { home })).stdout) as { text: string };
    expect(stdout).toBe(`${result.text.trimEnd()}\n`);
    const chat = await runProgram(['sessions', '--json', '--port', port], { home });
    expect(JSON.parse(chat.stdout)).toMatchObject({ count: 1 });
  });
});

describe('troupe charts', () => {
  it('lists the actor types, and exports each in every format', async () => {
    const list = await runProgram(['charts', 'list', '--json']);
    const types = (JSON.parse(list.stdout) as { type: string; states: number }[]).map(
      ({ type }) => type,
    );
    expect(types).toEqual(expect.arrayContaining(['root', 'agent', 'session']));
    const out = scratchFolder();
    const written = await runProgram(['charts', 'export', '--format', 'ts', '--out', out]);
    expect(written.stdout.trim().split('\n')).toHaveLength(types.length);
    const all = await runProgram(['charts', 'export']);
    expect(Object.keys(JSON.parse(all.stdout) as object)).toEqual(types);
    const json = await runProgram(['charts', 'export', 'session']);
    expect(JSON.parse(json.stdout)).toMatchObject({ states: { idle: {} } });
    const mermaid = await runProgram(['charts', 'export', 'session', '--format', 'mermaid']);
    expect(mermaid.stdout).toMatch(/^stateDiagram-v2/m);
    const svg = await runProgram(['charts', 'export', 'session', '--format', 'svg']);
    expect(svg.stdout).toMatch(/^<svg [^>]*aria-label="session"/);
    expect(svg.stdout).toContain('data-state="running.working.acting.choosing"');
    const html = await runProgram(['charts', 'export', '--format', 'html']);
    expect(html.stdout.match(/<main /g)).toHaveLength(types.length);
  });

  it('exports names without the source of functions, unless asked for it', async () => {
    for (const format of ['json', 'ts']) {
      const bare = await runProgram(['charts', 'export', 'session', '--format', format]);
      const full = await runProgram([
        'charts',
        'export',
        'session',
        '--format',
        format,
        '--no-bare',
      ]);
      expect(bare.stdout).not.toMatch(/=> \{\n|\$expr/);
      expect(full.stdout.length).toBeGreaterThan(bare.stdout.length);
    }
  });

  it('exports the machines that a module of the user exports', async () => {
    const own = ['charts', 'export', '--actors', 'examples/order/order.ts', '--format'];
    const svg = await runProgram([...own, 'svg']);
    expect(svg.stdout).toContain('data-state="packing"');
    const list = ['charts', 'list', '--actors', 'examples/order/order.ts', '--json'];
    expect(JSON.parse((await runProgram(list)).stdout)).toEqual([
      { type: 'order', version: 1, states: 5 },
    ]);
    const none = await runProgram(['charts', 'list', '--actors', 'examples/order/bank.ts']);
    expect(none).toMatchObject({ code: 2 });
    expect(none.stderr).toMatch(/bank\.ts exports no actor definition and no machine/);
    const missing = await runProgram(['charts', 'list', '--actors', 'nothing.ts']);
    expect(missing.stderr).toMatch(/there is no file .*nothing\.ts/);
  });

  it('lists the known types for an unknown one', async () => {
    const unknown = await runProgram(['charts', 'export', 'nothing']);
    expect(unknown).toMatchObject({ code: 2 });
    expect(unknown.stderr).toMatch(/unknown actor type nothing; known: .*session/);
    const format = await runProgram(['charts', 'export', '--format', 'png']);
    expect(format).toMatchObject({ code: 2 });
  });
});
