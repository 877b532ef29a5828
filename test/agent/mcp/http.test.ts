/** HTTP servers: the fixture of the conformance suite, and servers that answer with anything. */
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FixtureServer, startFixtureServer } from '../../channels/mcp/fixture-server.ts';
import { type Answers, startHostileServer } from './hostile-server.ts';
import { openServers, SECRET, textOf } from './servers-fixture.ts';

let fixture: FixtureServer;
beforeAll(async () => {
  fixture = await startFixtureServer();
});
afterAll(() => fixture.close());

const entry = (url: string, more: object = {}) => ({ test: { url, allowPrivate: true, ...more } });
const open = (more: object = {}) => openServers(entry(fixture.url, more));

describe('a server of 2026', () => {
  it('returns text, images, resources and links', async () => {
    const { call } = open();
    expect(textOf(await call('test_simple_text'))).toBe(
      'This is a simple text response for testing.',
    );
    expect(await call('test_image_content')).toMatchObject({
      kind: 'done',
      result: { images: [{ mimeType: 'image/png' }] },
    });
    expect(textOf(await call('test_audio_content'))).toMatch(/audio is left out/);
    expect(textOf(await call('test_embedded_resource'))).toMatch(/^\[resource test:/);
    expect(await call('test_error_handling')).toMatchObject({ result: { isError: true } });
  });

  it('gets a decline for what it asks, and the model reads the question', async () => {
    const { call } = open();
    const text = textOf(await call('test_elicitation', { input: { message: 'Who are you?' } }));
    expect(text).toMatch(/asked for input, which was declined.*Who are you\?/);
  });

  it('continues a call as a task, which ends with its result', async () => {
    const { call, servers } = open();
    const started = await call('slow_compute', { input: { seconds: 1 } });
    expect(started).toMatchObject({ kind: 'running', handle: { taskId: expect.any(String) } });
    if (started.kind !== 'running') return;
    const request = { tenant: 'default', signal: new AbortController().signal };
    const { caller } = servers;
    const about = { kind: 'mcp', server: 'test', name: 'slow_compute' } as never;
    let step = await caller.follow(about, started.handle, request);
    while (step.kind === 'running') step = await caller.follow(about, started.handle, request);
    expect(step.result.isError).toBeUndefined();
    await caller.cancel(about, started.handle, request);
    await expect(caller.follow(about, { taskId: 'unknown' }, request)).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
  });

  it('ends a task that waits for input, and reports what it asked', async () => {
    const { call, servers } = open();
    const started = await call('confirm_delete', { input: { filename: 'a.txt' } });
    if (started.kind !== 'running') throw new Error(textOf(started));
    const request = { tenant: 'default', signal: new AbortController().signal };
    const about = { kind: 'mcp', server: 'test', name: 'confirm_delete' } as never;
    const step = await servers.caller.follow(about, started.handle, request);
    expect(textOf(step)).toMatch(/asked for input.*Delete this file\?/);
  });

  it('refuses a private address unless the configuration allows it', async () => {
    const { call } = openServers({ test: { url: fixture.url } });
    await expect(call('test_simple_text')).rejects.toThrow(/not on the public internet/);
  });

  it('is not reached where none listens, and the call was not made', async () => {
    const { call, servers } = openServers(entry('http://127.0.0.1:9/mcp'));
    await expect(call('x')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(servers.list('test')).rejects.toThrow(/waits for its next start/);
  });
});

describe('a list', () => {
  const tool = (name: string, more: object = {}) => ({
    name,
    inputSchema: { type: 'object' },
    ...more,
  });
  const listed = async (tools: readonly unknown[], more: object = {}) => {
    const { url } = await startHostileServer({ list: { tools } });
    const { servers, refresh, stored } = openServers(entry(url, more));
    await refresh();
    return { tools: servers.tools(), row: stored()! };
  };

  it('of 10,000 tools is cut, always in the same way', async () => {
    const all = Array.from({ length: 10_000 }, (_, at) => tool(`tool_${10_000 + at}`));
    const one = await listed(all);
    const other = await listed(all.toReversed());
    expect(one.tools).toHaveLength(256);
    expect(one.tools.map(({ name }) => name)).toEqual(other.tools.map(({ name }) => name));
    expect(one.row.leftOut).toHaveLength(100);
  });

  it('with a description of 1 MB gets a short one', async () => {
    const description = `first line\u001b[31m\n${'x'.repeat(1_048_576)}`;
    const { tools } = await listed([tool('big', { description })]);
    expect(tools[0]!.description.length).toBeLessThan(5_000);
    expect(tools[0]!.description).toMatch(/^first line \[31m\nxxx/);
  });

  it('loses only the tools that are invalid, each with its reason', async () => {
    const { tools, row } = await listed([
      tool('good'),
      { name: 'no_schema' },
      tool('text', { inputSchema: { type: 'string' } }),
      tool('wrong', { inputSchema: { type: 'object', properties: { a: { type: 'nonsense' } } } }),
      tool('elsewhere', { inputSchema: { type: 'object', $ref: 'https://example.com/a.json' } }),
      tool('large', { inputSchema: { type: 'object', description: 'x'.repeat(70_000) } }),
      'no tool at all',
    ]);
    expect(tools.map(({ name }) => name)).toEqual(['mcp__test__good']);
    expect(row.leftOut.map(({ name }) => name).toSorted()).toEqual(
      ['(no name)', 'elsewhere', 'large', 'no_schema', 'text', 'wrong'].toSorted(),
    );
  });

  it('has names that providers accept, and no two the same', async () => {
    const names = ['a b', 'a_b', 'a.b', 'a\u0000b', 'x'.repeat(100), `${'x'.repeat(100)}y`, 'a_b'];
    const { tools, row } = await listed(names.map((name) => tool(name)));
    const made = tools.map(({ name }) => name);
    expect(new Set(made).size).toBe(6);
    for (const name of made) expect(name).toMatch(/^mcp__test__[A-Za-z0-9_-]+$/);
    expect(Math.max(...made.map((name) => name.length))).toBe(64);
    expect(made).toContain('mcp__test__a_b');
    expect(row.leftOut).toEqual([{ name: 'a_b', why: 'another tool has this name' }]);
  });

  it('is filtered by patterns of the configuration', async () => {
    const tools = { allow: ['read_*', 'write'], deny: ['*_secret'] };
    const all = ['read_a', 'read_secret', 'write', 'writes', 'other'].map((name) => tool(name));
    const found = await listed(all, { tools });
    expect(found.tools.map(({ name }) => name)).toEqual(['mcp__test__read_a', 'mcp__test__write']);
  });

  it('keeps the tools of a server that no longer answers', async () => {
    const { url } = await startHostileServer({ list: { tools: [tool('a')] } });
    const { servers, refresh } = openServers(entry(url));
    await refresh();
    const tools = servers.tools();
    await servers.close();
    await expect(refresh()).rejects.toThrow(/closed/);
    expect(servers.tools()).toBe(tools);
  });
});

describe('a call', () => {
  const called = async (call: Answers['call'], more: object = {}) => {
    const hostile = await startHostileServer({ call });
    return { hostile, ...openServers(entry(hostile.url, more)) };
  };

  it('with a malformed result reports that', async () => {
    for (const result of [{ content: 7 }, { content: [{ type: 'video' }] }]) {
      const { call } = await called(result);
      expect(await call('x')).toMatchObject({ result: { isError: true } });
    }
  });

  it('with a long result is cut, and control characters are removed', async () => {
    const text = `a\u0007b\u001b[2J\n${'y'.repeat(300_000)}`;
    const { call } = await called({ content: [{ type: 'text', text }] });
    const result = textOf(await call('x'));
    expect(result).toMatch(/^ab\[2J\ny+\n\[cut: /);
    expect(result.length).toBeLessThanOrEqual(65_536);
  });

  it('with structured content and no text returns it as JSON', async () => {
    const { call } = await called({ content: [], structuredContent: { a: [1, 2] } });
    expect(textOf(await call('x'))).toBe('{"a":[1,2]}');
  });

  it('with images that are too many or no images says what is left out', async () => {
    const png = Buffer.from('89504e470d0a1a0a00', 'hex').toString('base64');
    const image = { type: 'image', data: png, mimeType: 'image/jpeg' };
    const content = [
      ...Array.from({ length: 9 }, () => image),
      { ...image, data: 'bm90IGFuIGltYWdl' },
    ];
    const { call } = await called({ content });
    const step = await call('x');
    if (step.kind !== 'done') throw new Error('not done');
    expect(step.result.images).toHaveLength(8);
    expect(step.result.images![0]!.mimeType).toBe('image/png');
    expect(step.result.text.split('\n')).toHaveLength(2);
  });

  it('that is answered with too many bytes is lost, and so is its outcome', async () => {
    const { call } = await called({ content: [{ type: 'text', text: 'z'.repeat(6_000_000) }] });
    await expect(call('x', { class: 'repeatable' })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    const error: unknown = await call('x').catch((thrown: unknown) => thrown);
    expect((error as { code?: string }).code).toBeUndefined();
  });

  it('that hangs ends with its signal, and does not block other calls', async () => {
    const { call, hostile } = await called(() => {});
    const ended = new AbortController();
    const hanging = call('x', { signal: ended.signal });
    hanging.catch(() => {});
    await expect.poll(() => hostile.calls).toEqual(['x']);
    ended.abort();
    await expect(hanging).rejects.toThrow(/abort/i);
  });

  it('whose connection breaks is lost when it is of class once', async () => {
    const { call } = await called((response: ServerResponse) => response.destroy());
    const error: unknown = await call('x').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Error);
    expect((error as { code?: string }).code).toBeUndefined();
    await expect(call('x', { class: 'keyed' })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('is not redirected to another server', async () => {
    const other = await startHostileServer({ call: { content: [] } });
    const { call } = await called((response: ServerResponse) =>
      response.writeHead(307, { location: other.url }).end(),
    );
    await call('x').catch(() => {});
    expect(other.calls).toEqual([]);
  });

  it('sends the headers of the configuration, which no error shows', async () => {
    const headers = { authorization: `Bearer ${SECRET}` };
    const { call, hostile, reports } = await called(
      (response: ServerResponse) => response.writeHead(401).end(`bad token ${SECRET}`),
      { headers },
    );
    const error: unknown = await call('x').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'UNAUTHORIZED' });
    expect(hostile.headers.at(-1)).toMatchObject(headers);
    expect(String(error) + JSON.stringify(reports)).not.toContain(SECRET);
  });
});
