/** The commands as processes, against a real gateway whose sessions the test drives. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MAIN } from '../channels/gateway/client.ts';
import { FakeCell } from '../channels/gateway/fake-session-system.ts';
import { eventually } from '../runtime/eventually.ts';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { runGateway, TOKEN } from './gateway.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { runProgram, startProgram } from './program.ts';
import packageJson from '../../package.json' with { type: 'json' };

const at = (url: string) => ['--url', url, '--token', TOKEN];

describe('troupe', () => {
  it('prints its version, and help with every command and exit code', async () => {
    const [version, help] = await Promise.all([runProgram(['--version']), runProgram(['--help'])]);
    expect(version).toMatchObject({ code: 0, stdout: `${packageJson.version}\n` });
    expect(help.code).toBe(0);
    for (const word of [
      'start',
      'chat',
      'agent',
      'sessions',
      'charts',
      'config',
      'doctor',
      '130 Ctrl-C',
    ]) {
      expect(help.stdout).toContain(word);
    }
  });

  it('suggests a similar command, and explains options', async () => {
    const wrong = await runProgram(['sesions']);
    expect(wrong).toMatchObject({ code: 2 });
    expect(wrong.stderr).toContain('Did you mean sessions?');
    const help = await runProgram(['agent', '--help']);
    expect(help.stdout).toMatch(/--run-id[^]*Examples:[^]*\$ troupe agent/);
    const missing = await runProgram(['agent']);
    expect(missing).toMatchObject({ code: 2 });
    expect(missing.stderr).toContain('--message');
  });

  it('refuses an option value that is not a number', async () => {
    const wrong = await runProgram(['sessions', '--limit', 'many']);
    expect(wrong).toMatchObject({ code: 2 });
    expect(wrong.stderr).toContain('whole number');
  });
});

describe('troupe agent', () => {
  it('prints the answer', async () => {
    const { url } = await runGateway({ echo: true });
    const ended = await runProgram(['agent', '--message', 'hello you', ...at(url)]);
    expect(ended).toEqual({ code: 0, stdout: 'echo: hello you\n', stderr: '' });
  });

  it('streams the answer while it grows', async () => {
    const { url, system } = await runGateway();
    const program = startProgram(['agent', '-m', 'hi', ...at(url)]);
    await eventually(() => expect(system.running(MAIN)).toBeDefined());
    system.say(MAIN, 'First ');
    await eventually(() => expect(program.stdout).toBe('First'));
    system.say(MAIN, 'second');
    system.finish(MAIN, 'First second');
    expect(await program.ended).toEqual({ code: 0, stdout: 'First second\n', stderr: '' });
  });

  it('prints the result as JSON, and the first result again for the same run id', async () => {
    const { url, system } = await runGateway({ echo: true });
    const args = ['agent', '-m', 'hello', '--run-id', 'r1', '--json', ...at(url)];
    const first = await runProgram(args);
    expect(JSON.parse(first.stdout)).toMatchObject({
      runId: 'r1',
      status: 'ok',
      text: 'echo: hello',
      sessionKey: MAIN,
      model: 'offline/echo',
      usage: { input: 3, output: 7 },
    });
    system.echo = false;
    const second = await runProgram(args);
    expect(second).toEqual(first);
  });

  it.each([
    [['--verbose'], 'on'],
    [['--verbose', 'full'], 'full'],
  ])('%j prints the tool calls of the run before the whole answer', async (flags, verbose) => {
    const { url, system } = await runGateway();
    const program = startProgram(['agent', '-m', 'hi', ...flags, ...at(url)]);
    await eventually(() => expect(system.running(MAIN)).toBeDefined());
    expect(system.asked[0]?.event).toMatchObject({ verbose });
    system.say(MAIN, 'It is noon.');
    system.finish(MAIN, '- clock\n\nIt is noon.');
    expect(await program.ended).toMatchObject({ code: 0, stdout: '- clock\n\nIt is noon.\n' });
    const wrong = await runProgram(['agent', '-m', 'hi', '--verbose', 'loud', ...at(url)]);
    expect(wrong.stderr).toContain('/verbose is one of off, on, full');
  });

  it('reads the message from stdin', async () => {
    const { url } = await runGateway({ echo: true });
    const ended = await runProgram(['agent', '-m', '-', ...at(url)], { stdin: 'from a pipe' });
    expect(ended.stdout).toBe('echo: from a pipe\n');
  });

  it('fails if the run fails, and prints the reason', async () => {
    const { url, system } = await runGateway();
    const program = startProgram(['agent', '-m', 'hi', ...at(url)]);
    await eventually(() => expect(system.running(MAIN)).toBeDefined());
    system.fail(MAIN, { code: 'UNAVAILABLE', message: 'the provider is down' });
    expect(await program.ended).toMatchObject({
      code: 1,
      stderr: 'troupe: the provider is down\n',
    });
  });

  it('exits with the time-out code when the run took too long, also with JSON', async () => {
    const { url, system } = await runGateway();
    const program = startProgram(['agent', '-m', 'hi', '--timeout', '5', '--json', ...at(url)]);
    await eventually(() => expect(system.running(MAIN)).toBeDefined());
    expect(system.asked[0]?.event).toMatchObject({ timeoutMs: 5_000 });
    system.fail(MAIN, { code: 'DEADLINE_EXCEEDED', message: 'too slow' }, 'timeout');
    const { code, stdout } = await program.ended;
    expect(code).toBe(5);
    expect(JSON.parse(stdout)).toMatchObject({
      status: 'timeout',
      error: { code: 'DEADLINE_EXCEEDED', message: 'too slow' },
    });
  });

  it('continues after a restart of the gateway', async () => {
    const cell = new FakeCell();
    const first = await runGateway({ cell });
    const program = startProgram(['agent', '-m', 'hi', ...at(first.url)]);
    await eventually(() => expect(first.system.running(MAIN)).toBeDefined());
    first.system.say(MAIN, 'One answer');
    await eventually(() => expect(program.stdout).toBe('One answer'));
    await first.gateway.close();
    const second = await runGateway({ cell, port: first.gateway.port });
    second.system.resume();
    await eventually(() => expect(second.system.asked).toHaveLength(1));
    second.system.say(MAIN, 'One answer only.');
    second.system.finish(MAIN, 'One answer only.');
    expect(await program.ended).toMatchObject({ code: 0, stdout: 'One answer only.\n' });
  });

  it('has exit codes for no gateway, a wrong token, and a wrong agent', async () => {
    const unreachable = await runProgram([
      'agent',
      '-m',
      'x',
      '--port',
      String(await reservePort()),
    ]);
    expect(unreachable).toMatchObject({ code: 3 });
    expect(unreachable.stderr).toMatch(
      /no gateway responds at ws:.* \(ECONNREFUSED\).*troupe start/s,
    );
    const { url } = await runGateway();
    const refused = await runProgram(['agent', '-m', 'x', '--url', url, '--token', 'wrong']);
    expect(refused).toMatchObject({ code: 4 });
    expect(refused.stderr).toContain("not the gateway's token");
    const unknown = await runProgram([
      'agent',
      '-m',
      'x',
      '--agent',
      'unknown-agent',
      '--json',
      ...at(url),
    ]);
    expect(unknown).toMatchObject({ code: 2 });
    expect(JSON.parse(unknown.stdout)).toMatchObject({
      error: { code: 'INVALID_ARGUMENT', message: 'unknown agent id "unknown-agent"' },
    });
  });
});

describe('troupe chat', () => {
  it('answers each line of a pipe in turn, and ends with the input', async () => {
    const { url } = await runGateway({ echo: true });
    const ended = await runProgram(['chat', ...at(url)], { stdin: 'one\n\n  two  \n' });
    expect(ended).toEqual({ code: 0, stdout: 'echo: one\necho: two\n', stderr: '' });
  });

  it('sends a line at once while an answer runs, and shows the answers in order', async () => {
    const { url, system } = await runGateway();
    const program = startProgram(['chat', '--session', 'work', ...at(url)], {
      stdin: 'one\ntwo\n',
    });
    const key = 'agent:main:work';
    await eventually(() => expect(system.kept.queues.get(key)).toHaveLength(1));
    system.say(key, 'first');
    await eventually(() => expect(program.stdout).toBe('first'));
    system.finish(key, 'first');
    await eventually(() => expect(system.running(key)).toBeDefined());
    system.finish(key, 'second');
    expect(await program.ended).toEqual({ code: 0, stdout: 'first\nsecond\n', stderr: '' });
  });

  it('stops the running answer at Ctrl-C, and exits at the second one', async () => {
    const { url, system } = await runGateway();
    const program = startProgram(['chat', ...at(url)]);
    program.child.stdin?.write('tell me a long story\n');
    await eventually(() => expect(system.running(MAIN)).toBeDefined());
    system.say(MAIN, 'Once upon');
    await eventually(() => expect(program.stdout).toBe('Once upon'));
    program.child.kill('SIGINT');
    await eventually(() => expect(program.stderr).toContain('[stopped]'));
    expect(system.running(MAIN)).toBeUndefined();
    program.child.kill('SIGINT');
    expect(await program.ended).toMatchObject({ code: 0, stdout: 'Once upon\n' });
  });

  it('reports a failed run and continues, and exits with a failure code', async () => {
    const { url, system } = await runGateway();
    const program = startProgram(['chat', ...at(url)], { stdin: 'one\ntwo\n' });
    await eventually(() => expect(system.kept.queues.get(MAIN)).toHaveLength(1));
    system.fail(MAIN, { code: 'UNAVAILABLE', message: 'the provider is down' });
    await eventually(() => expect(system.running(MAIN)).toBeDefined());
    system.finish(MAIN, 'fine again');
    expect(await program.ended).toEqual({
      code: 1,
      stdout: 'fine again\n',
      stderr: '[the provider is down]\n',
    });
  });
});

describe('troupe sessions', () => {
  it('lists sessions as a table and as JSON', async () => {
    const { url } = await runGateway({ echo: true });
    const none = await runProgram(['sessions', ...at(url)]);
    expect(none.stdout).toContain('no sessions; `troupe chat` starts one');
    await runProgram(['agent', '-m', 'hello', '--session', 'work', ...at(url)]);
    const shown = await runProgram(['sessions', ...at(url)]);
    expect(shown).toMatchObject({ code: 0 });
    expect(shown.stdout).toMatch(/^SESSION\s+STATUS[^\n]*\nagent:main:work /);
    const json = await runProgram(['sessions', '--json', '--limit', '5', ...at(url)]);
    expect(JSON.parse(json.stdout)).toMatchObject({
      count: 1,
      sessions: [{ key: 'agent:main:work' }],
    });
  });
});

describe('troupe config', () => {
  it('reports every problem with its place and exits with 2', async () => {
    const file = write(scratchFolder(), 'mine.json5', '{\n  gatway: {},\n  log: { level: 9 },\n}');
    const ended = await runProgram(['config', 'check', '--config', file]);
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toContain(`gatway (${file}:2:3)`);
    expect(ended.stderr).toContain(`log.level = 9 (${file}:3:10)`);
    const json = await runProgram(['config', 'check', '--config', file, '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({
      error: {
        code: 'INVALID_ARGUMENT',
        details: { problems: [{ path: 'gatway' }, { path: 'log.level' }] },
      },
    });
  });

  it('shows each value with its source, and no secret', async () => {
    const home = scratchFolder();
    const text =
      "{ gateway: { auth: { token: 'hush' } }, mcp: { servers: { db: { command: 'db', args: ['postgres://ann:hush@127.0.0.1'] } } } }";
    const file = write(home, '.troupe/troupe.json5', text);
    const shown = await runProgram(['config', 'show', '--port', '7'], { home });
    expect(shown.stdout).toContain('gateway.port = 7  (--port)\n');
    expect(shown.stdout).toContain(`gateway.auth.token = "***"  (${file}:1:22)\n`);
    expect(shown.stdout).toContain('log.level = "info"  (default)\n');
    expect(shown.stdout).toContain('"postgres://***@127.0.0.1"');
    const json = await runProgram(['config', 'show', '--json'], { home });
    expect(JSON.parse(json.stdout)).toMatchObject({ config: { gateway: { port: 18_789 } } });
    expect(shown.stdout + json.stdout).not.toContain('hush');
    const good = await runProgram(['config', 'check'], { home });
    expect(good.stdout).toContain(`the configuration is valid (${file})`);
  });

  it('prints the JSON Schema and the reference', async () => {
    const [schema, reference] = await Promise.all([
      runProgram(['config', 'schema']),
      runProgram(['config', 'reference']),
    ]);
    expect(JSON.parse(schema.stdout)).toMatchObject({ title: 'troupe.json5', type: 'object' });
    expect(reference.stdout).toMatch(/^# Configuration\n/);
  });
});

describe('troupe doctor', () => {
  const statusOf = (stdout: string) => {
    const { ok, checks } = JSON.parse(stdout) as {
      ok: boolean;
      checks: { check: string; status: string; message: string; remedy?: string }[];
    };
    return { ok, of: (name: string) => checks.filter(({ check }) => check === name) };
  };

  it('accepts a fresh machine', async () => {
    const port = String(await reservePort());
    const ended = await runProgram(['doctor', '--json', '--port', port]);
    const { ok, of } = statusOf(ended.stdout);
    expect({ ok, code: ended.code }).toEqual({ ok: true, code: 0 });
    expect(of('node')).toMatchObject([{ status: 'ok', message: process.versions.node }]);
    expect(of('store')).toMatchObject([{ status: 'ok' }]);
    expect(of('port')).toMatchObject([{ status: 'ok', message: `${port} is free` }]);
    expect(of('models')).toMatchObject([
      { status: 'ok', remedy: expect.stringContaining('ANTHROPIC_API_KEY') as string },
    ]);
  });

  it('distinguishes its own gateway on the port from another program', async () => {
    const { gateway } = await runGateway();
    const ours = await runProgram(['doctor', '--json', '--port', String(gateway.port)]);
    expect(statusOf(ours.stdout).of('port')[0]?.message).toMatch(/^troupe runs at/);
    const other = createServer((socket) => socket.end());
    onTestFinished(() => void other.close());
    other.listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    const taken = await runProgram(['doctor', '--json', '--port', String(port)]);
    expect(taken.code).toBe(1);
    expect(statusOf(taken.stdout).of('port')).toMatchObject([
      { status: 'fail', message: `cannot listen on ${port} (EADDRINUSE)` },
    ]);
  });

  it('reports a wrong configuration, an invalid folder, a missing key, an unknown model', async () => {
    const home = scratchFolder();
    write(home, '.troupe/troupe.json5', '{ nonsense: 1 }');
    const wrong = await runProgram(['doctor'], { home });
    expect(wrong.code).toBe(1);
    expect(wrong.stdout).toMatch(/fail {2}config: [^]*nonsense[^]*→ correct it/);
    const file = write(home, 'file', '');
    const folder = await runProgram(['doctor', '--json', '--data', join(file, 'data')], { home });
    expect(statusOf(folder.stdout).of('data folder')).toMatchObject([{ status: 'fail' }]);
    write(
      home,
      'keys.json5',
      "{ models: { providers: { openai: {} } }, agents: { defaults: { model: 'no-such-model' } }, channels: { telegram: { accounts: { main: { token: 'x' } } } } }",
    );
    const keys = await runProgram(['doctor', '--json', '--config', join(home, 'keys.json5')], {
      home,
    });
    const { of } = statusOf(keys.stdout);
    expect(of('models').map(({ status }) => status)).toEqual(['fail', 'warn']);
    expect(of('sessions')).toMatchObject([
      { status: 'warn', message: expect.stringContaining('telegram:main') as string },
    ]);
  });

  it('opens the data like start, and reports what start would refuse', async () => {
    const data = scratchFolder();
    const store = join(data, 'store');
    const { openEmbeddedStore } = await import('../../runtime/log/embedded-store.ts');
    const opened = await openEmbeddedStore({ path: store, durability: 'process' });
    const { cell } = opened;
    await opened.close();
    const good = await runProgram(['doctor', '--json', '--data', data]);
    expect(statusOf(good.stdout).of('data')).toMatchObject([{ message: `format 2, cell ${cell}` }]);
    for (const damaged of ['store/store.json', 'store/data.mdb']) {
      const whole = readFileSync(join(data, damaged));
      write(data, damaged, '{"cell"');
      const torn = await runProgram(['doctor', '--json', '--data', data]);
      expect(statusOf(torn.stdout).of('data')).toMatchObject([{ status: 'fail' }]);
      writeFileSync(join(data, damaged), whole);
    }
  });
});
