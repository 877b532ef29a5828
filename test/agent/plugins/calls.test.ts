/** What plugins can do, with real processes: tools, hooks, providers, and what holds them back. */
import { execFile } from 'node:child_process';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createHooks } from '../../../agent/hooks/create-hooks.ts';
import type { ModelEvent } from '../../../agent/models/model.ts';
import { createToolRegistry } from '../../../agent/tools/registry.ts';
import { scratchFolder, write } from '../../runtime/config/folder.ts';
import { toolContext } from '../tools/tool-context.ts';
import { codeOf, opened, toolNamed, writePlugin } from './plugin-folder.ts';

const about = { tenant: 'default', agentId: 'main', sessionKey: 'agent:main:main', runId: 'r' };
const request = { model: 'small', system: '', messages: [], tools: [] };
const streaming = () => ({
  signal: new AbortController().signal,
  idempotencyKey: 'k',
  idleTimeoutMs: 10_000,
});

const weights = {
  type: 'object',
  properties: { grams: { type: 'integer', minimum: 1 } },
  required: ['grams'],
  additionalProperties: false,
};

describe('a tool of a plugin', () => {
  it('receives checked arguments, its settings, its secrets and the facts of the call', async () => {
    const { tools } = await opened({
      post: {
        manifest: {
          secrets: ['apiKey'],
          tools: [toolNamed('post_price', { parameters: weights })],
          configSchema: { type: 'object', properties: { cents: { type: 'integer' } } },
        },
        entry: { config: { cents: 5 }, secrets: { apiKey: 'post-secret' } },
        code: codeOf(
          'post',
          `tools: [{ name: 'post_price', run: ({ grams }: { grams: number }, context) => {
             const { plugin, tenant, runId } = context;
             context.update('half way');
             return JSON.stringify([grams * Number(plugin.config.cents), plugin.secrets, tenant, runId]);
           } }]`,
        ),
      },
    });
    const registry = createToolRegistry(tools);
    const deltas: string[] = [];
    const context = toolContext({ update: (delta) => void deltas.push(delta) });
    const call = (args: unknown) => registry.run({ name: 'post_price', args }, context);
    expect(await call({ grams: 3 })).toEqual({
      text: '[15,{"apiKey":"post-secret"},"default","run-1"]',
    });
    expect(deltas).toEqual(['half way']);
    const refused = await call({ grams: 0 });
    expect(refused.isError).toBe(true);
    expect(refused.text).toContain('The arguments of post_price were refused: grams: must be >= 1');
    expect(registry.specs()[0]?.parameters).toEqual(weights);
  });

  it('returns a text, a failed result, images, or a value of its schema as JSON', async () => {
    const returns = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
    const image = { mimeType: 'image/png', data: 'iVBORw0KGgo=' };
    const { tools } = await opened({
      kinds: {
        manifest: { tools: [toolNamed('kinds'), toolNamed('kinds_json', { returns })] },
        code: codeOf(
          'kinds',
          `tools: [
             { name: 'kinds', run: async ({ what }) => ({
                 failed: { text: 'no', isError: true },
                 image: { text: 'seen', images: [${JSON.stringify(image)}] } })[what as string] },
             { name: 'kinds_json', run: ({ n }) => ({ n }) }]`,
        ),
      },
    });
    const registry = createToolRegistry(tools);
    const run = (name: string, args: object) => registry.run({ name, args }, toolContext());
    expect(await run('kinds', { what: 'failed' })).toEqual({ text: 'no', isError: true });
    expect(await run('kinds', { what: 'image' })).toEqual({ text: 'seen', images: [image] });
    expect(await run('kinds_json', { n: 4 })).toEqual({ text: '{"n":4}' });
  });

  it('fails with the message and code that it throws', async () => {
    const { tools } = await opened({
      thrower: {
        manifest: { tools: [toolNamed('thrower')] },
        code: codeOf(
          'thrower',
          `tools: [{ name: 'thrower', run: () => {
             throw new PluginError('RATE_LIMIT_EXCEEDED', 'slow down', { retryAfterMs: 70 }); } }]`,
        ),
      },
    });
    await expect(tools[0]!.run({}, toolContext())).rejects.toMatchObject({
      code: 'RATE_LIMIT_EXCEEDED',
      message: 'the plugin thrower: slow down',
      retryAfterMs: 70,
    });
  });

  it('receives the end of its caller as a signal', async () => {
    const { tools } = await opened({
      waiter: {
        manifest: { tools: [toolNamed('waiter'), toolNamed('waiter_seen')] },
        code: `let seen = 'nothing';
          ${codeOf(
            'waiter',
            `tools: [
               { name: 'waiter', run: (_args, { signal, update }) => new Promise((resolve) => {
                   signal.addEventListener('abort', () => { seen = 'aborted'; resolve(''); });
                   update('waiting'); }) },
               { name: 'waiter_seen', run: () => seen }]`,
          )}`,
      },
    });
    const [waiter, seen] = tools;
    const caller = new AbortController();
    // Cancelled while it runs.
    const context = toolContext({ signal: caller.signal, update: () => caller.abort() });
    const call = waiter!.run({}, context);
    await expect(call).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(await seen!.run({}, toolContext())).toEqual({ text: 'aborted' });
  });
});

describe('a hook of a plugin', () => {
  it('changes events as a hook file does, in the order of priorities', async () => {
    const sign = (id: string, priority: number) => ({
      manifest: { hooks: ['message_sending'], priority },
      code: codeOf(
        id,
        `hooks: { message_sending: ({ text }, { agentId, plugin }) =>
           ({ text: text + ' ' + plugin.id + '@' + agentId }) }`,
      ),
    });
    const { hooks } = await opened({ late: sign('late', 5), early: sign('early', -5) });
    const called = createHooks({ modules: hooks });
    expect(await called.run('message_sending', { text: 'hi' }, about)).toEqual({
      text: 'hi early@main late@main',
    });
  });
});

describe('a provider of a plugin', () => {
  it('streams an answer with text, reasoning, tool calls and usage', async () => {
    const { providers } = await opened({
      echo: {
        manifest: { providers: [{ id: 'echo', models: [{ id: 'small', contextWindow: 1_000 }] }] },
        code: codeOf(
          'echo',
          `providers: [{ id: 'echo', async *stream({ model, messages }) {
             yield { type: 'reasoning', delta: 'hm' };
             yield { type: 'text', delta: model + ' ' };
             yield { type: 'text', delta: String(messages.length) };
             yield { type: 'call', id: 'c', name: 'clock', args: { zone: 'UTC' } };
             yield { type: 'usage', inputTokens: 7, outputTokens: 2 };
           } }]`,
        ),
      },
    });
    const events: ModelEvent[] = [];
    for await (const event of providers[0]!.stream(request, streaming())) events.push(event);
    expect(events).toEqual([
      { kind: 'reasoning', delta: 'hm' },
      { kind: 'text', delta: 'small ' },
      { kind: 'text', delta: '0' },
      {
        kind: 'done',
        text: 'small 0',
        calls: [{ id: 'c', name: 'clock', args: { zone: 'UTC' } }],
        stop: 'tools',
        usage: { inputTokens: 7, outputTokens: 2 },
      },
    ]);
  });

  it('fails with the code that it throws, which decides about a retry', async () => {
    const { providers } = await opened({
      down: {
        manifest: { providers: [{ id: 'down', models: [{ id: 'small' }] }] },
        code: codeOf(
          'down',
          `providers: [{ id: 'down', async *stream() {
             yield { type: 'text', delta: 'a' };
             throw new PluginError('UNAVAILABLE', 'no backend'); } }]`,
        ),
      },
    });
    const reading = async () => {
      for await (const _ of providers[0]!.stream(request, streaming()));
    };
    await expect(reading()).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: 'the plugin down: no backend',
      details: { provider: 'down' },
    });
  });
});

describe('the process of a plugin', () => {
  const trying = (statement: string) =>
    `async () => { try { ${statement}; return 'allowed'; } catch (error) { return error.code ?? error.message; } }`;

  it('has no environment, no files, no programs, threads or signals, but the network', async () => {
    const server = createServer((socket) => socket.end('hello'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    process.env['PLUGIN_TEST_SECRET'] = 'of-the-host';
    onTestFinished(() => void delete process.env['PLUGIN_TEST_SECRET']);
    const { tools } = await opened({
      prober: {
        manifest: { tools: [toolNamed('prober')] },
        code: `import fs from 'node:fs'; import net from 'node:net'; import os from 'node:os';
          import { execFileSync } from 'node:child_process'; import { Worker } from 'node:worker_threads';
          const tries: Record<string, () => unknown> = {
            read: ${trying("fs.readFileSync('/etc/passwd')")},
            list: ${trying("fs.readdirSync('/')")},
            write: ${trying("fs.writeFileSync('/tmp/of-a-plugin', '')")},
            run: ${trying("execFileSync('/bin/true')")},
            thread: ${trying("new Worker('1', { eval: true })")},
            kill: ${trying('process.kill(process.ppid, 0)')},
            debug: ${trying('(process as any)._debugProcess(process.ppid)')},
            bindings: ${trying("(process as any).binding('fs')")},
            environment: () => Object.keys(process.env).length,
            network: () => new Promise((resolve) => net.connect(${port}, '127.0.0.1')
              .on('data', (data) => resolve(String(data))).on('error', (error) => resolve(error.message))),
          };
          ${codeOf('prober', `tools: [{ name: 'prober', run: async () => JSON.stringify(Object.fromEntries(await Promise.all(Object.entries(tries).map(async ([name, one]) => [name, await one()])))) }]`)}`,
      },
    });
    expect(JSON.parse((await tools[0]!.run({}, toolContext())).text)).toEqual({
      read: 'ERR_ACCESS_DENIED',
      list: 'ERR_ACCESS_DENIED',
      write: 'ERR_ACCESS_DENIED',
      run: 'ERR_ACCESS_DENIED',
      thread: 'ERR_ACCESS_DENIED',
      kill: 'a plugin cannot send signals',
      debug: 'a plugin cannot send signals',
      bindings: 'ERR_ACCESS_DENIED',
      environment: 0,
      network: 'hello',
    });
  });

  it('reads the folders that its manifest asks for and the configuration grants', async () => {
    const folder = scratchFolder();
    write(folder, 'notes.txt', 'mine');
    const reader = {
      code: `import { readFileSync } from 'node:fs';
        ${codeOf('reader', `tools: [{ name: 'reader', run: ({ path }) => { try { return readFileSync(path as string, 'utf8'); } catch (error) { return error.code; } } }]`)}`,
      entry: { permissions: { read: [folder] } },
    };
    const asking = { tools: [toolNamed('reader')], permissions: ['read'] };
    const { tools } = await opened({ reader: { ...reader, manifest: asking } });
    const text = async (path: string) => (await tools[0]!.run({ path }, toolContext())).text;
    expect(await text(`${folder}/notes.txt`)).toBe('mine');
    expect(await text('/etc/passwd')).toBe('ERR_ACCESS_DENIED');
    const silent = { tools: [toolNamed('reader')] };
    const other = await opened({ reader: { ...reader, manifest: silent } });
    const args = { path: `${folder}/notes.txt` };
    expect(await other.tools[0]!.run(args, toolContext())).toEqual({ text: 'ERR_ACCESS_DENIED' });
  });

  it('also starts from a bundled program that embeds troupe', async () => {
    const home = scratchFolder();
    const manifest = { tools: [toolNamed('well')] };
    const code = codeOf('well', `tools: [{ name: 'well', run: () => 'well' }]`);
    writePlugin(home, 'well', { manifest, code });
    write(home, 'troupe.json5', `{ plugins: { entries: { well: { enabled: true } } } }`);
    const args = ['tools/run.mjs', 'test/agent/plugins/embedder.program.ts', home];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    expect(stdout).toBe('well\n');
  });

  it('writes to the log of troupe with what it prints', async () => {
    const { tools, reports } = await opened({
      talker: {
        manifest: { tools: [toolNamed('talker')] },
        code: codeOf(
          'talker',
          `tools: [{ name: 'talker', run: () => { console.log('one'); console.error('two'); return ''; } }]`,
        ),
      },
    });
    await tools[0]!.run({}, toolContext());
    await expect
      .poll(() => reports)
      .toEqual([
        { plugin: 'talker', kind: 'output', text: 'one' },
        { plugin: 'talker', kind: 'warning', text: 'two' },
      ]);
  });
});
