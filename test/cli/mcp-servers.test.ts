/** `troupe mcp add`, `list`, `tools` and `remove`, with a real server. */
import { expect, it } from 'vitest';
import { STDIO_SERVER } from '../agent/mcp/servers-fixture.ts';
import { scratchFolder } from '../runtime/config/folder.ts';
import { runProgram } from './program.ts';

it('adds a server, reaches it, and removes it', async () => {
  const home = scratchFolder();
  const env = { CALLS: `${home}/calls`, SECRET: 'a-secret-of-the-shell' };
  const run = (...args: string[]) => runProgram(['mcp', ...args], { home, env });
  const options = ['--no-sandbox', '--env', 'CALLS', 'SECRET', '--deny', 'hang_*'];
  const command = ['--', process.execPath, STDIO_SERVER];
  expect((await run('add', 'test', ...options, ...command)).code).toBe(0);
  expect(await run('add', 'test', ...command)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('there is a server test'),
  });
  const listed = await run('list', '--json');
  expect(JSON.parse(listed.stdout)).toMatchObject({
    servers: [{ name: 'test', revision: '2026-07-28', tools: { length: 6 } }],
  });
  const tools = await run('tools', 'test');
  expect(tools.stdout.split('\n')).toContain('mcp__test__echo');
  expect(tools.stdout).not.toContain('hang_');
  const shown = await runProgram(['config', 'show'], { home, env });
  expect(shown.stdout).toContain('mcp.servers.test');
  expect(shown.stdout).not.toContain(env.SECRET);
  expect((await run('remove', 'test')).code).toBe(0);
  expect(await run('tools', 'test')).toMatchObject({ code: 2 });
});

it('says why a server cannot be reached, also in the doctor', async () => {
  const home = scratchFolder();
  const run = (...args: string[]) => runProgram(args, { home });
  await run('mcp', 'add', 'gone', 'http://127.0.0.1:9/mcp', '--allow-private');
  const listed = await run('mcp', 'list');
  expect(listed).toMatchObject({ code: 1, stdout: expect.stringContaining('ECONNREFUSED') });
  const { stdout } = await run('doctor');
  expect(stdout).toMatch(/warn {2}MCP servers: gone cannot be used: .*ECONNREFUSED/);
});

it('refuses an entry that the configuration would refuse', async () => {
  const home = scratchFolder();
  const run = (...args: string[]) => runProgram(['mcp', ...args], { home });
  expect(await run('add', 'a__b', 'http://example.com/mcp')).toMatchObject({ code: 2 });
  for (const url of ['ftp://example.com/mcp', 'htp://example.com', 'WS://example.com'])
    expect((await run('add', 'web', url)).stderr).toContain('http:// or https://');
  expect((await run('add', 'web', 'https://example.com/mcp', 'x')).stderr).toContain('arguments');
  const wrong = await run('add', 'web', 'https://example.com/mcp', '--env', 'A=b');
  expect(wrong.stderr).toContain('`args`, `env` and `cwd` are for servers with a `command`');
});
