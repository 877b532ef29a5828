/**
 * kill -9 of troupe while a tool of an MCP server works on a task for an agent: after the restart
 * the task is followed to its end, and the tool is not called again.
 */
import { expect, onTestFinished, test } from 'vitest';
import { startFixtureServer } from '../channels/mcp/fixture-server.ts';
import { announced, runProgram, startProgram } from '../cli/program.ts';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';
import { reservePort } from '../servers/reserve-port.ts';

test('a call that continues as a task survives the kill of troupe', async () => {
  const fixture = await startFixtureServer();
  onTestFinished(() => fixture.close());
  const home = scratchFolder();
  const server = { url: fixture.url, allowPrivate: true, approval: 'never' };
  const config = { mcp: { servers: { fixture: server } } };
  write(home, '.troupe/troupe.json5', JSON.stringify(config));
  const port = String(await reservePort());
  const start = async () => {
    const program = startProgram(['start', '--json', '--port', port], { home });
    await announced(program, 60_000);
    return program;
  };
  const send = (runId: string, message: string) =>
    runProgram(['agent', '-m', message, '--run-id', runId, '--json', '--port', port], { home });

  const troupe = await start();
  // The list of the server is read in the background.
  await eventually(async () => {
    const { stdout } = await send(
      `look-${Math.random()}`,
      'call mcp__fixture__greet {"name":"Ada"}',
    );
    expect(stdout).toContain('Hello, Ada!');
  }, 30_000);
  const running = send('r1', 'call mcp__fixture__slow_compute {"seconds":6}');
  await eventually(() => expect(fixture.tasks.asked.length).toBeGreaterThan(0), 30_000);
  troupe.child.kill('SIGKILL');
  await troupe.ended;
  const askedBefore = fixture.tasks.asked.length;
  await start();
  // The command connects again, and waits for the same run.
  const ended = await running;
  expect(ended.stdout).toContain('computed');
  expect(fixture.tasks.created).toHaveLength(1);
  expect(fixture.tasks.asked.length).toBeGreaterThan(askedBefore);
}, 120_000);
