/**
 * The Agent2Agent protocol: how many messages a second are answered with the end of their task. The
 * built program runs embedded as a separate process; each message is a durable task of an action
 * that ends at once. Beside it, a bare server of the official SDK, which keeps tasks in memory and
 * answers the same messages from an executor that ends at once. One client for both, on the same
 * cores, over JSON-RPC.
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { issueToken } from '../channels/edge/identity/local-issuer.ts';
import { processorTimeOf } from './harness/computer.ts';
import { HttpLoad, requestOf } from './harness/http-load.ts';
import { startBareServer, startProgram } from './harness/program.ts';
import { defineScenario } from './harness/scenario.ts';
import { spread } from './harness/statistics.ts';

/** Connections, each with its own context and one message in flight. */
const CONNECTIONS = 64;
const TENANT = 'conformance';
const RESOURCE = 'urn:troupe:a2a';
const TOKEN_TTL_SEC = 3_600;

export const agent2agent = defineScenario({
  name: 'agent2agent',
  question: 'how many A2A messages a second are answered with the end of their durable task?',
  needsProgram: true,
  secondsMax: 90,
  figures: {
    perSecond: { label: 'messages answered', unit: '1/s', limit: 'sdkPerSecond' },
    p50Ms: { label: '  send to answer, p50', unit: 'ms' },
    p99Ms: { label: '  send to answer, p99', unit: 'ms' },
    threadUs: { label: '  processor time of one, JavaScript thread', unit: 'µs' },
    sdkPerSecond: { label: 'limit: a bare server of the SDK, tasks in memory', unit: '1/s' },
    sdkP99Ms: { label: '  send to answer, p99', unit: 'ms' },
    sdkThreadUs: { label: '  processor time of one, JavaScript thread', unit: 'µs' },
  },
  async measure({ folder, pick }) {
    const seconds = pick(8, 2, 0.2);
    const data = join(folder, 'data');
    mkdirSync(data, { recursive: true });
    writeFileSync(join(data, 'troupe.json5'), JSON.stringify(SETTINGS));
    const bare = await startBareServer(SDK_SERVER);
    await sends(bare.port, 'x'.repeat(400), pick(2, 0.5, 0.1));
    const sdk = await measured(bare, 'x'.repeat(400), seconds);
    await bare.stop();
    const program = await startProgram(folder);
    const token = await issueToken(
      data,
      {
        sub: 'bench',
        tenant: TENANT,
        roles: ['agent'],
        resource: RESOURCE,
        ttlSec: TOKEN_TTL_SEC,
        external: false,
      },
      Date.now(),
    );
    await sends(program.port, token, pick(3, 1, 0.1));
    const ours = await measured(program, token, seconds);
    await program.stop();
    return {
      perSecond: ours.perSecond,
      p50Ms: ours.p50,
      p99Ms: ours.p99,
      threadUs: ours.threadUs,
      sdkPerSecond: sdk.perSecond,
      sdkP99Ms: sdk.p99,
      sdkThreadUs: sdk.threadUs,
    };
  },
});

/** The load of a benchmark exceeds the rate limit of one principal. */
const SETTINGS = {
  a2a: { quota: { principalPerMinute: 100_000_000, tenantPerMinute: 100_000_000 } },
};

const messageOf = (token: string, contextId: string): Buffer => {
  const payload = { text: 'a text as people write them, not very long' };
  const parts = [{ data: { action: 'conformance.echo_payload', payload } }];
  const message = { messageId: randomUUID(), contextId, role: 'ROLE_USER', parts };
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'a2a-version': '1.0',
  };
  const body = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } };
  return requestOf('/a2a/conformance', headers, JSON.stringify(body));
};

async function measured(
  { port, pid }: { readonly port: number; readonly pid: number },
  token: string,
  seconds: number,
) {
  const before = processorTimeOf(pid).mainMs;
  const sent = await sends(port, token, seconds);
  const threadMs = processorTimeOf(pid).mainMs - before;
  return { ...sent, threadUs: (threadMs * 1_000) / sent.count };
}

/** Closed loop. */
async function sends(port: number, token: string, seconds: number) {
  const load = await HttpLoad.open(port, CONNECTIONS);
  const samples: number[] = [];
  const begun = performance.now();
  const until = begun + seconds * 1_000;
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const contextId = `bench-${randomUUID()}`;
      while (performance.now() < until) {
        const { status, body, ms } = await load.request(messageOf(token, contextId));
        if (status !== 200 || !body.includes('TASK_STATE_COMPLETED'))
          throw new Error(`the message was answered with ${status}: ${body.slice(0, 300)}`);
        samples.push(ms);
      }
    }),
  );
  const elapsed = (performance.now() - begun) / 1_000;
  load.close();
  const { p50, p99 } = spread(samples);
  return { count: samples.length, perSecond: samples.length / elapsed, p50, p99 };
}

/** A listener of node:http with the SDK's own handler; its executor completes each task at once. */
const SDK_SERVER = `(() => {
  const sdk = require('@a2a-js/sdk/server');
  const { TaskState } = require('@a2a-js/sdk');
  const card = {
    name: 'bare', description: '', version: '1', provider: undefined, supportedInterfaces: [],
    capabilities: { streaming: true, extensions: [] }, securitySchemes: {}, securityRequirements: [],
    defaultInputModes: [], defaultOutputModes: [], skills: [], signatures: [],
  };
  const executor = {
    async execute({ taskId: id, contextId, userMessage }, bus) {
      const parts = userMessage.parts;
      const artifact = { artifactId: 'result', name: '', description: '', parts, extensions: [] };
      const state = TaskState.TASK_STATE_COMPLETED;
      const status = { state, timestamp: new Date().toISOString() };
      bus.publish({
        kind: 'task',
        data: { id, contextId, status, artifacts: [artifact], history: [], metadata: undefined },
      });
      bus.finished();
    },
    async cancelTask() {},
  };
  const handler = new sdk.DefaultRequestHandler(card, new sdk.InMemoryTaskStore(), executor);
  const transport = new sdk.JsonRpcTransportHandler(handler);
  return (request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', async () => {
      if (request.method === 'GET') return response.end();
      const body = JSON.parse(Buffer.concat(chunks).toString());
      const context = new sdk.ServerCallContext({ requestedVersion: '1.0' });
      const text = JSON.stringify(await transport.handle(body, context));
      response.writeHead(200, { 'content-length': Buffer.byteLength(text) }).end(text);
    });
  };
})()`;
