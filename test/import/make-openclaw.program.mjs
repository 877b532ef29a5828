/**
 * Makes an installation of OpenClaw for the tests of `troupe import openclaw`, with the real
 * program and a model of its own: node test/import/make-openclaw.program.mjs MODULES OUT
 *
 * MODULES is a node_modules folder with `openclaw`, run with a Node that it accepts. OUT is the new
 * state folder. 2026.7.1 makes the layout of files, 2026.9.6 the one of SQLite; the archives
 * openclaw-files.tar.gz and openclaw-sqlite.tar.gz were made so and then packed by
 * pack-openclaw.sh.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';

const [modules, out] = process.argv.slice(2).map((path) => resolve(path));
const port = Number(process.env.PORT ?? 18777);
const program = join(modules, 'openclaw', 'openclaw.mjs');
const workspace = join(out, 'workspace');

/** A model that answers with the end of the last message, and reads a file if asked to. */
const model = createServer((request, response) => {
  let body = '';
  request.on('data', (data) => (body += data));
  request.on('end', () => {
    if (!request.url.endsWith('/chat/completions')) return response.end('{"data":[]}');
    const { messages } = JSON.parse(body);
    const content = messages.findLast(({ role }) => role === 'user')?.content ?? '';
    const text = [content]
      .flat()
      .map((part) => part.text ?? part)
      .join('');
    const reads = text.includes('READ') && messages.at(-1).role !== 'tool';
    const read = { name: 'read', arguments: JSON.stringify({ path: 'AGENTS.md' }) };
    const call = { index: 0, id: `call_${messages.length}`, type: 'function', function: read };
    const delta = reads ? { tool_calls: [call] } : { content: `You wrote: ${text.slice(-40)}` };
    const chunk = (one) => `data: ${JSON.stringify({ id: 'c', model: 'echo', ...one })}\n\n`;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(chunk({ choices: [{ index: 0, delta: { role: 'assistant', ...delta } }] }));
    const finish_reason = reads ? 'tool_calls' : 'stop';
    response.write(chunk({ choices: [{ index: 0, delta: {}, finish_reason }] }));
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
    response.end(`${chunk({ choices: [], usage })}data: [DONE]\n\n`);
  });
});
await new Promise((done) => model.listen(0, '127.0.0.1', done));

const write = (path, text) => {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text);
};
const isOld = process.env.LAYOUT === 'files';
const memory = {
  provider: 'openai',
  model: 'text-embedding-3-small',
  query: { maxResults: 8, minScore: 0.3, hybrid: { vectorWeight: 0.6, textWeight: 0.4 } },
};
const agents = isOld
  ? {
      list: [
        { id: 'main', default: true },
        { id: 'research', name: 'Research' },
      ],
    }
  : { entries: { main: { workspace }, research: { name: 'Research' }, Ops: { name: 'Ops' } } };
const bindings = [
  { agentId: 'research', match: { channel: 'telegram', peer: { kind: 'group', id: '-100777' } } },
  { agentId: 'Ops', match: { channel: 'discord', guildId: '81384788765712384', roles: ['1'] } },
];
const config = {
  gateway: { mode: 'local', port, bind: 'loopback', auth: { mode: 'token', token: 'fixture' } },
  models: {
    providers: {
      fake: {
        baseUrl: `http://127.0.0.1:${model.address().port}/v1`,
        apiKey: 'sk-fixture-not-a-key',
        api: 'openai-completions',
        models: [{ id: 'echo', name: 'Echo', contextWindow: 200_000, maxTokens: 4_096 }],
      },
    },
  },
  agents: {
    defaults: {
      model: { primary: 'fake/echo' },
      workspace,
      skipBootstrap: true,
      heartbeat: { every: '0m' },
      ...(isOld ? { memorySearch: memory } : {}),
    },
    ...agents,
  },
  ...(isOld ? {} : { memory: { search: memory } }),
  session: { dmScope: 'per-channel-peer' },
  ...(isOld ? {} : { bindings }),
};
write(join(out, 'openclaw.json'), JSON.stringify(config, null, 2));
write(join(workspace, 'AGENTS.md'), '# Rules\n\nAnswer in verse.\n');
write(join(workspace, 'SOUL.md'), 'A patient librarian.\n');
write(join(workspace, 'MEMORY.md'), '- Ada prefers tea.\n');
write(join(workspace, 'memory', '2026-06-01.md'), '- Ada moved to Paris.\n');
write(
  join(workspace, 'skills', 'tea', 'SKILL.md'),
  '---\nname: tea\ndescription: How to make tea.\n---\nBoil water.\n',
);

const env = {
  PATH: process.env.PATH,
  HOME: join(out, '..'),
  OPENCLAW_STATE_DIR: out,
  OPENCLAW_CONFIG_PATH: join(out, 'openclaw.json'),
  OPENCLAW_DISABLE_UPDATE_CHECK: '1',
  NO_COLOR: '1',
};
const begin = (args, more = {}) =>
  spawn(process.execPath, [program, ...args], { env: { ...env, ...more } });
const run = (args) =>
  new Promise((done) => {
    const child = begin(args);
    let text = '';
    child.stdout.on('data', (data) => (text += data));
    child.stderr.on('data', (data) => (text += data));
    child.on('close', (code) => {
      console.log(args.join(' ').slice(0, 150), '→', code, code === 0 ? '' : text.slice(-900));
      done({ code, text });
    });
  });
const call = (method, params) =>
  run([
    'gateway',
    'call',
    method,
    '--params',
    JSON.stringify(params),
    '--json',
    '--timeout',
    '60000',
  ]);
const say = async (sessionKey, message, more = {}) => {
  const idempotencyKey = `fixture-${Math.random()}`;
  const [, , agentId] = /^((?=agent:)agent:([^:]+)|)/.exec(sessionKey);
  await call('agent', { sessionKey, agentId, message, idempotencyKey, ...more });
  await call('agent.wait', { runId: idempotencyKey, timeoutMs: 60_000 });
};

const gateway = begin(['gateway', 'run', '--port', String(port), '--allow-unconfigured']);
let log = '';
gateway.stdout.on('data', (data) => (log += data));
gateway.stderr.on('data', (data) => (log += data));
for (let tries = 0; ; tries++) {
  const ready = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => ({ ok: false }));
  if (ready.ok) break;
  if (tries === 120) throw new Error(`the gateway is not ready: ${log}`);
  await new Promise((done) => setTimeout(done, 1_000));
}
await say('agent:main:main', 'Hello, I am Ada.');
await say('agent:main:main', 'Please READ the rules.');
await call('sessions.reset', { key: 'agent:main:main', reason: 'reset' });
await say('agent:main:main', 'A new start.');
await say('agent:main:telegram:direct:4242', 'A direct message.');
await say('agent:main:telegram:group:-100777', 'To the group.');
await say('agent:main:telegram:group:-100777:topic:42', 'To the topic.');
await say('agent:main:discord:channel:998877', 'To the channel.');
await say('agent:main:slack:channel:c024be91l:thread:1717.22', 'To the thread.');
await say('agent:research:main', 'To the researcher.');
if (!isOld) {
  await say('agent:Ops:Night', 'To the operator.');
  // An event that OpenClaw compresses.
  await say('agent:main:long', 'A long story. '.repeat(2_000));
}
const job = { name: 'Morning', agentId: 'main', enabled: true, wakeMode: 'now' };
await call('cron.add', {
  ...job,
  schedule: { kind: 'cron', expr: '0 9 * * 1-5', tz: 'Europe/Berlin' },
  sessionTarget: 'isolated',
  payload: { kind: 'agentTurn', message: 'Sum up my mail.' },
});
await call('cron.add', {
  ...job,
  name: 'Pulse',
  schedule: { kind: 'every', everyMs: 3_600_000 },
  sessionTarget: 'main',
  payload: { kind: 'systemEvent', text: 'Look at the servers.' },
});
// A device with a token: a node, which the gateway approves because it is on this machine.
const node = begin(['node', 'run', '--host', '127.0.0.1', '--port', String(port)], {
  OPENCLAW_GATEWAY_TOKEN: 'fixture',
});
await new Promise((done) => setTimeout(done, 45_000));
await run(['devices', 'list', '--json', '--token', 'fixture']);
await run(['devices', 'approve', '--latest', '--json', '--token', 'fixture']);
await new Promise((done) => setTimeout(done, 20_000));
node.kill('SIGKILL');
gateway.kill('SIGTERM');
await new Promise((done) => gateway.on('close', done));
model.close();
