/** docs/reverse-proxy.md: its configurations of nginx and Caddy, run before a real gateway. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, fetch } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { operatorClient } from '../../client/operator-client.ts';
import { debianProgram } from '../../tools/debian.mjs';
import { announced, startProgram } from '../cli/program.ts';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';
import { hasOpenssl, makeCertificates } from '../servers/certificates.ts';
import { reservePort } from '../servers/reserve-port.ts';
import { proxies } from './proxies.ts';

const TOKEN = 'a-token-of-32-characters-or-more-0000';

/** A gateway that knows its proxy, and the proxy. */
async function open(kind: keyof typeof proxies) {
  const folder = scratchFolder();
  makeCertificates(folder);
  const home = scratchFolder();
  const [port, gatewayPort] = [await reservePort(), await reservePort()];
  const base = `https://127.0.0.1:${port}`;
  const settings = {
    gateway: { auth: { trustedProxy: { proxies: ['127.0.0.1'] } } },
    a2a: { publicUrl: base },
  };
  write(home, '.troupe/troupe.json5', JSON.stringify(settings));
  const env = { TROUPE_TOKEN: TOKEN, TROUPE_PORT: String(gatewayPort) };
  await announced(startProgram(['start', '--json'], { home, env }));
  const proxy = proxies[kind]({ folder, port, gatewayPort });
  const ca = readFileSync(join(folder, 'ca.pem'));
  const dispatcher = new Agent({ connect: { ca } });
  onTestFinished(() => dispatcher.destroy());
  const request = (path: string, init: Parameters<typeof fetch>[1] = {}) =>
    fetch(`${base}${path}`, {
      ...init,
      dispatcher,
      headers: { authorization: `Bearer ${TOKEN}`, ...(init?.headers as object) },
    });
  await eventually(async () => {
    const { status } = await request('/readyz');
    expect({ status, output: proxy.output() }).toMatchObject({ status: 200 });
  });
  const client = operatorClient({
    url: base.replace('https', 'wss'),
    token: TOKEN,
    openSocket: (url: string) => new WebSocket(url, { ca, origin: base }),
  });
  onTestFinished(() => client.close());
  client.connect();
  await client.ready();
  return { base, request, client, proxy, ca };
}

type Opened = Awaited<ReturnType<typeof open>>;

/** The first events of a stream, as far as `enough` reads; the rest is not read. */
async function readEvents(
  response: Awaited<ReturnType<Opened['request']>>,
  enough: (text: string) => boolean,
): Promise<string> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const part of response.body!) {
    text += decoder.decode(part as Uint8Array, { stream: true });
    if (enough(text)) break;
  }
  return text;
}

const json = { 'content-type': 'application/json' };
const slowly = 'Tell me something. [[words:40]] [[pace:10]]';

async function checkPage({ request }: Opened): Promise<void> {
  const page = await request('/');
  const text = await page.text();
  expect([page.status, page.headers.get('content-type')]).toEqual([
    200,
    expect.stringMatching(/html/),
  ]);
  const script = /src="([^"]+\.js)"/.exec(text)![1]!;
  const loaded = await request(new URL(script, 'http://page/').pathname);
  expect(loaded.status).toBe(200);
  expect((await loaded.text()).length).toBeGreaterThan(1_000);
}

/** The first words of an answer arrive while its run goes on: nothing collects the events. */
async function checkAgentStream({ request }: Opened): Promise<void> {
  const message = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: slowly }] };
  const body = { jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: { message } };
  const response = await request('/a2a/main', {
    method: 'POST',
    headers: { ...json, 'a2a-version': '1.0', accept: 'text/event-stream' },
    body: JSON.stringify(body),
  });
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
  const events = await readEvents(response, (text) => /TASK_STATE_WORKING/.test(text));
  expect(events).not.toContain('TASK_STATE_COMPLETED');
}

async function checkMcpStream({ request }: Opened): Promise<void> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const params = { notifications: { toolsListChanged: true }, _meta };
  const response = await request('/mcp', {
    method: 'POST',
    headers: {
      ...json,
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'subscriptions/listen',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 'sub', method: 'subscriptions/listen', params }),
  });
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
  // the subscription stays open; what it sends first arrives at once
  expect(await readEvents(response, (text) => text.includes('data: '))).toContain('subscriptions');
}

/** Above the default of nginx, 1 MiB, and above what it would keep in memory. */
async function checkUpload({ request, base }: Opened): Promise<void> {
  const body = Buffer.alloc(5 * 2 ** 20, 'x');
  const headers = { 'content-type': 'text/plain' };
  const stored = await request('/v1/artifacts', { method: 'POST', headers, body });
  const answer = (await stored.json()) as { artifact_uri: string };
  expect([stored.status, answer.artifact_uri]).toEqual([201, expect.stringContaining(base)]);
  const read = await request(
    new URL(answer.artifact_uri).pathname + new URL(answer.artifact_uri).search,
  );
  expect((await read.arrayBuffer()).byteLength).toBe(body.length);
}

/** Whatever a client claims, it is not local, and its claim does not reach the gateway. */
async function checkForwarded({ request }: Opened): Promise<void> {
  const headers = { 'x-forwarded-for': '127.0.0.1, ::1' };
  expect((await request('/v1/agents', { headers })).status).toBe(200);
  const wrong = { ...headers, authorization: 'Bearer wrong' };
  expect((await request('/v1/agents', { headers: wrong })).status).toBe(401);
}

/** Wrong secrets count for the real address, whatever addresses the client claims. */
async function checkAddress({ base, ca }: Opened): Promise<void> {
  const guessFrom = async (localAddress: string, claimed: string): Promise<number> => {
    const dispatcher = new Agent({ connect: { ca }, localAddress });
    const headers = { authorization: 'Bearer wrong', 'x-forwarded-for': claimed };
    const { status } = await fetch(`${base}/v1/agents`, { dispatcher, headers });
    await dispatcher.destroy();
    return status;
  };
  // the default of gateway.auth.rateLimit.maxAttempts
  for (let n = 1; n <= 10; n++) expect(await guessFrom('127.0.0.2', `203.0.113.${n}`)).toBe(401);
  expect(await guessFrom('127.0.0.2', '203.0.113.99')).toBe(429);
  expect(await guessFrom('127.0.0.3', '127.0.0.2')).toBe(401);
}

async function checkReload({ client, proxy }: Opened): Promise<void> {
  const sessionKey = 'agent:main:reload';
  const [runId] = ['run-reload'];
  await client.request('chat.send', { sessionKey, message: slowly, idempotencyKey: runId });
  proxy.reload();
  await eventually(async () => {
    await client.ready();
    const { status } = await client.request('agent.wait', { runId, timeoutMs: 20_000 });
    expect(status).toBe('ok');
  }, 40_000);
  const { messages } = await client.request('chat.history', { sessionKey });
  const answers = (messages as { role: string; content: { text?: string }[] }[]).filter(
    ({ role }) => role === 'assistant',
  );
  expect(answers).toHaveLength(1);
  const words = answers[0]!.content
    .map(({ text }) => text ?? '')
    .join('')
    .split(/\s+/);
  expect(words.filter(Boolean).length).toBeGreaterThanOrEqual(40);
}

describe.each(['nginx', 'caddy'] as const)('behind %s', (kind) => {
  const reason = !debianProgram(kind) ? `there is no ${kind} here` : 'there is no openssl here';

  it('all entry points work, and an answer survives a reload', {
    timeout: 240_000,
  }, async (context) => {
    if (!debianProgram(kind) || !hasOpenssl) return context.skip(reason);
    const opened = await open(kind);
    await checkPage(opened);
    expect(opened.client.state.kind).toBe('open');
    await checkAgentStream(opened);
    await checkMcpStream(opened);
    await checkUpload(opened);
    await checkForwarded(opened);
    await checkAddress(opened);
    await checkReload(opened);
  });
});
