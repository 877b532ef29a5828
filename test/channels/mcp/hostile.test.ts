/**
 * Hostile requests of `/mcp` to the running program: plain calls, requests that the SDK serves, and
 * sessions of 2025. Each is answered by JSON-RPC or refused with a reason, none with a status of
 * 500 or above; nothing is logged as an error, no file or socket remains open, and a usual call is
 * answered afterwards. `TROUPE_HOSTILE_REQUESTS=10000` sends more.
 */
import { expect, test } from 'vitest';
import { eventually } from '../../runtime/eventually.ts';
import { startHostileProgram } from '../hostile-program.ts';
import { type HostileRequest, hostileRequests, SESSION } from './hostile.ts';

const ECHO = 'conformance__echo_payload-v1';
const TOKEN = ['--tenant', 'conformance', '--roles', 'operator,writer'];
const CALL_HEADERS = {
  'content-type': 'application/json',
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': ECHO,
};
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};
const JSON_TYPE = /^application\/json/;
const EVENTS = 'text/event-stream';
/** Streams that wait for changes end only with their client. */
const STREAM_MS = 200;

const isAnswer = (part: unknown): boolean => {
  const { jsonrpc, result, error, method } = part as Readonly<Record<string, unknown>>;
  if (jsonrpc !== '2.0') return typeof (error as { message?: unknown })?.message === 'string';
  return [result, error, method].filter((one) => one !== undefined).length === 1;
};

/** Why an answer is none that a client understands; undefined: it is. */
function faultOf(status: number, type: string, text: string): string | undefined {
  if (status >= 500) return 'a fault of the gateway';
  if (type === EVENTS) {
    const events = [...text.matchAll(/^data: ?(.+)$/gm)].map(([, data]) => data!);
    // The last one may be cut by the end of the connection.
    return text.endsWith('\n\n') && !events.every((data) => isAnswer(JSON.parse(data)))
      ? 'an event is no message'
      : undefined;
  }
  if (JSON_TYPE.test(type))
    return [JSON.parse(text)].flat().every(isAnswer) ? undefined : 'no message';
  return text === '' && status < 300 ? undefined : 'neither JSON nor empty';
}

/** What is read of an answer, at most for STREAM_MS if it is a stream. */
async function textOf(response: Response, leave: AbortController): Promise<string> {
  if (response.headers.get('content-type') !== EVENTS) return response.text();
  const timer = setTimeout(() => leave.abort(), STREAM_MS);
  let text = '';
  try {
    for await (const part of response.body!.pipeThrough(new TextDecoderStream())) text += part;
  } catch (error) {
    if (!leave.signal.aborted) throw error;
  }
  clearTimeout(timer);
  return text;
}

test('hostile requests fail alone', { timeout: 900_000 }, async () => {
  const program = await startHostileProgram({}, TOKEN);
  const { url, authorization, openFiles } = program;
  let session = 'none';
  const send = async (hostile: HostileRequest): Promise<number> => {
    const { method, headers, body, leavesAfterMs } = hostile;
    const leave = new AbortController();
    const leaving = setTimeout(() => leave.abort(), leavesAfterMs ?? 60_000);
    const named: Readonly<Record<string, string>> =
      headers['mcp-session-id'] === SESSION ? { 'mcp-session-id': session } : {};
    try {
      const response = await fetch(`${url}/mcp`, {
        method,
        headers: { authorization, ...headers, ...named },
        ...(method === 'GET' || body === undefined ? {} : { body }),
        signal: leave.signal,
      });
      session = response.headers.get('mcp-session-id') ?? session;
      const type = response.headers.get('content-type') ?? '';
      const text = await textOf(response, leave);
      const fault = faultOf(response.status, type, text);
      if (fault !== undefined)
        throw new Error(`${fault}: ${response.status} ${text} ${JSON.stringify(hostile)}`);
      return response.status;
    } catch (error) {
      if (leavesAfterMs === undefined || !leave.signal.aborted) throw error;
      return 0;
    } finally {
      clearTimeout(leaving);
    }
  };
  const echoed = async (text: string): Promise<unknown> => {
    const response = await fetch(`${url}/mcp`, {
      method: 'POST',
      headers: { authorization, ...CALL_HEADERS },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: ECHO, arguments: { text }, _meta: META },
      }),
    });
    const { result } = (await response.json()) as { result?: { structuredContent?: unknown } };
    return result?.structuredContent;
  };
  expect(await echoed('before')).toMatchObject({ text: 'before' });
  const before = openFiles();
  await program.sendAll(hostileRequests, send);
  expect(await echoed('after')).toMatchObject({ text: 'after' });
  // Those of the connections that this test keeps are among them.
  await eventually(() => expect(openFiles()).toBeLessThan(before + 32), 30_000);
});
