/**
 * Agents with tools of an MCP server, a real process by stdin and stdout: offered, called,
 * approved, denied, and an unknown outcome that is never repeated.
 */
import { expect, it, onTestFinished } from 'vitest';
import { MCP_SERVERS_INDEX, type McpServerRow } from '../../protocols/mcp-server.ts';
import { REMOTE_CALLS_INDEX, type RemoteCallRow } from '../../protocols/remote-call.ts';
import { linesOf, stdioEntry } from '../agent/mcp/servers-fixture.ts';
import { connected, MAIN } from '../channels/gateway/client.ts';
import { scratchFolder } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';
import { startModelServer } from '../servers/model-server.ts';
import type { Plan, ScriptedServer } from '../servers/scripted-server.ts';
import { install, type Installation, providerOf } from './installation.ts';

const API = 'anthropic-messages';
const ALL = ['big', 'change', 'echo', 'grow', 'hang_once', 'hang_reading', 'pid', 'whoami'];

const calls = (name: string, args: object = {}): Plan => ({
  kind: 'answer',
  calls: [{ id: `call_${name}`, name: `mcp__test__${name}`, args }],
});
const says = (text: string): Plan => ({ kind: 'answer', deltas: [text] });

/** Names of tools that the model was offered with a request. */
const offered = (server: ScriptedServer, at = -1): readonly string[] => {
  const body = server.requests.at(at)?.body as { tools?: readonly { name: string }[] } | undefined;
  return (body?.tools ?? []).map(({ name }) => name).filter((name) => name.startsWith('mcp__'));
};

async function opened(entry: object = {}, config: object = {}) {
  const folder = scratchFolder();
  const server = await startModelServer({ api: API });
  onTestFinished(() => server.close());
  const troupe = await install({
    config: {
      models: { providers: { p: providerOf(API, server) } },
      mcp: { servers: { test: stdioEntry(folder, entry as Record<string, unknown>) } },
      ...config,
    },
  });
  // The first list is read in the background.
  await eventually(() => expect(linesOf(folder, 'starts')).toHaveLength(1));
  await eventually(async () => {
    server.script(says('ready'));
    await troupe.run(MAIN, 'are you ready?');
    expect(offered(server).length).toBeGreaterThan(0);
  });
  return { folder, server, troupe };
}

const callRows = ({ system }: Installation): readonly RemoteCallRow[] =>
  system.index.list<RemoteCallRow>(REMOTE_CALLS_INDEX, 'default').map(({ value }) => value);

it('a model is offered the tools in a stable order, and calls them through the actor', async () => {
  const { server, troupe, folder } = await opened();
  expect(offered(server)).toEqual(ALL.map((name) => `mcp__test__${name}`));
  server.script(calls('echo', { text: 'hello' }), says('It said hello.'));
  const { row, results } = await troupe.run(MAIN, 'say hello');
  expect(row).toMatchObject({ status: 'ok', text: 'It said hello.' });
  expect(results).toMatchObject([{ name: 'mcp__test__echo', result: 'you said hello' }]);
  expect(linesOf(folder, 'calls')).toEqual(['echo']);
  expect(callRows(troupe)).toMatchObject([
    { kind: 'mcp', server: 'test', name: 'echo', class: 'repeatable', state: 'done' },
  ]);
});

it('arguments that the schema of the server refuses do not reach it', async () => {
  const { server, troupe, folder } = await opened();
  server.script(calls('echo', { text: 7 }), says('I see.'));
  const { results } = await troupe.run(MAIN, 'say 7');
  expect(results[0]!.result).toMatch(/arguments of mcp__test__echo were refused: text/);
  expect(linesOf(folder, 'calls')).toEqual([]);
});

it('a tool that changes something waits for an approval, also in a sandboxed session', async () => {
  const sandbox = { mode: 'always', allowlist: [] };
  const { server, troupe, folder } = await opened({}, { agents: { defaults: { sandbox } } });
  const client = await connected(troupe, {
    scopes: ['operator.admin', 'operator.read', 'operator.write', 'operator.approvals'],
  });
  onTestFinished(() => client.close());
  server.script(calls('change'), says('Changed.'), calls('change'), says('Again.'));
  const running = troupe.run(MAIN, 'change it');
  const { payload } = await client.frame(({ event }) => event === 'exec.approval.requested');
  expect(payload.request.command).toBe('mcp__test__change');
  expect(linesOf(folder, 'calls')).toEqual([]);
  await client.call('exec.approval.resolve', { id: payload.id, decision: 'allow-always' });
  expect((await running).results).toMatchObject([{ result: 'changed, call 1' }]);
  const again = await troupe.run(MAIN, 'change it once more');
  expect(again.results).toMatchObject([{ result: 'changed, call 2' }]);
});

it('a process that is killed during a call of class once leaves it unknown, and it is not repeated', async () => {
  const { server, troupe, folder } = await opened({ approval: 'never' });
  server.script(calls('pid'), says('I know.'));
  const { results } = await troupe.run(MAIN, 'which process?');
  const pid = Number(results[0]!.result);
  server.script(calls('hang_once'), says('I do not know.'));
  const running = troupe.run(MAIN, 'hang');
  await eventually(() => expect(linesOf(folder, 'calls')).toEqual(['hang_once']));
  process.kill(pid, 'SIGKILL');
  const ended = await running;
  expect(ended.results).toMatchObject([
    { isError: true, result: expect.stringMatching(/^Unknown: .*It was not called again/s) },
  ]);
  expect(linesOf(folder, 'calls')).toEqual(['hang_once']);
  expect(callRows(troupe)).toContainEqual(expect.objectContaining({ state: 'unknown' }));
});

it('a call that only reads is repeated after its process was killed', async () => {
  const { server, troupe, folder } = await opened();
  server.script(calls('pid'), says('I know.'));
  const pid = Number((await troupe.run(MAIN, 'which process?')).results[0]!.result);
  server.script(calls('hang_reading'), says('Read.'));
  const running = troupe.run(MAIN, 'read');
  await eventually(() => expect(linesOf(folder, 'calls')).toEqual(['hang_reading']));
  process.kill(pid, 'SIGKILL');
  expect((await running).results).toMatchObject([{ isError: false, result: 'done' }]);
  expect(linesOf(folder, 'calls')).toEqual(['hang_reading', 'hang_reading']);
});

it.each([
  ['a tool', { deny: ['mcp__test__change'] }, ALL.filter((name) => name !== 'change')],
  ['all but one tool', { allow: ['mcp__test__echo', 'group:basic'] }, ['echo']],
])('lists of the configuration remove %s', async (_, tools, left) => {
  const { server } = await opened({}, { tools });
  expect(offered(server)).toEqual(left.map((name) => `mcp__test__${name}`));
});

it('a denied server has no tools at all', async () => {
  const folder = scratchFolder();
  const server = await startModelServer({ api: API });
  onTestFinished(() => server.close());
  const troupe = await install({
    config: {
      models: { providers: { p: providerOf(API, server) } },
      mcp: { servers: { test: stdioEntry(folder) } },
      tools: { deny: ['group:mcp:test'] },
    },
  });
  await eventually(() => expect(linesOf(folder, 'starts')).toHaveLength(1));
  server.script(calls('echo', { text: 'x' }), says('Not allowed.'));
  const { results } = await troupe.run(MAIN, 'try it');
  expect(results).toMatchObject([{ isError: true }]);
  expect(offered(server)).toEqual([]);
  expect(linesOf(folder, 'calls')).toEqual([]);
});

it('a server that cannot be reached does not prevent the start', async () => {
  const server = await startModelServer({ api: API });
  onTestFinished(() => server.close());
  const troupe = await install({
    config: {
      models: { providers: { p: providerOf(API, server) } },
      mcp: { servers: { gone: { url: 'http://127.0.0.1:9/mcp', allowPrivate: true } } },
    },
  });
  server.script(says('Here I am.'));
  expect((await troupe.run(MAIN, 'hello')).row).toMatchObject({ status: 'ok' });
});

it('the tools remain after a restart while the server cannot be reached', async () => {
  const data = scratchFolder();
  const folder = scratchFolder();
  const server = await startModelServer({ api: API });
  onTestFinished(() => server.close());
  const start = (env: object) =>
    install({
      data,
      config: {
        models: { providers: { p: providerOf(API, server) } },
        mcp: { servers: { test: stdioEntry(folder, { env }) } },
      },
    });
  const first = await start({});
  await eventually(() =>
    expect(
      first.system.index.get<McpServerRow>(MCP_SERVERS_INDEX, 'default', 'test'),
    ).toMatchObject({ state: 'listed', tools: ALL.length }),
  );
  await first.stop();
  const second = await start({ CRASH_AT_START: '1' });
  server.script(says('Here I am.'));
  await second.run(MAIN, 'hello');
  expect(offered(server)).toEqual(ALL.map((name) => `mcp__test__${name}`));
  await eventually(() =>
    expect(
      second.system.index.get<McpServerRow>(MCP_SERVERS_INDEX, 'default', 'test'),
    ).toMatchObject({
      state: 'failed',
      tools: ALL.length,
      error: { message: expect.stringContaining('exit code 7') },
    }),
  );
});
