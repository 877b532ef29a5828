/**
 * A2A in a cluster of two gateways and two workers on NATS: messages are sent to one gateway, and
 * their tasks are followed at the other one. kill -9 of a worker that runs some of them, and of the
 * gateway that accepted them: the same tasks, one result each, and their ends are posted.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { announced, runProgram, startProgram } from '../cli/program.ts';
import { scratchFolder, write } from '../runtime/config/folder.ts';
import { eventually } from '../runtime/eventually.ts';
import { natsServers, startNats } from '../servers/nats.ts';
import { reservePort } from '../servers/reserve-port.ts';

const nats = natsServers().at(-1);
const SECONDS = 15;
/** On four shards of two workers: some run on each. */
const TASKS = 6;
const idIn = (body: string): string => (JSON.parse(body) as { task: { id: string } }).task.id;
const PATH = '/tenants/conformance/a2a/conformance';

/** The bodies that were posted. */
async function openReceiver() {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (part: string) => (body += part));
    request.on('end', () => {
      bodies.push(body);
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { bodies, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` };
}

async function openCluster() {
  const home = scratchFolder();
  const server = await startNats({
    path: nats!.path,
    port: await reservePort(),
    folder: scratchFolder(),
  });
  onTestFinished(() => server.stop());
  write(home, 'troupe.json5', JSON.stringify({ cluster: { shards: 4 } }));
  const env = {
    TROUPE_HOME: home,
    TROUPE_NATS_URL: `nats://127.0.0.1:${server.port}`,
  };
  const ports = [await reservePort(), await reservePort()];
  const start = (...args: string[]) => startProgram([...args, '--json'], { home, env });
  const gateways = ports.map((port, n) =>
    start('gateway', '--name', `g${n}`, '--port', String(port)),
  );
  const workers = ['one', 'two'].map((name) => start('worker', '--name', name));
  await Promise.all([...gateways, ...workers].map((program) => announced(program, 120_000)));
  const signed = await runProgram(
    ['token', '--tenant', 'conformance', '--sub', 'ann', '--roles', 'writer'],
    { home, env },
  );
  const headers = {
    authorization: `Bearer ${signed.stdout.trim()}`,
    'content-type': 'application/json',
    'a2a-version': '1.0',
  };
  const call = async (gateway: number, method: string, params: object): Promise<Response> =>
    fetch(`http://127.0.0.1:${ports[gateway]}${PATH}`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
  return {
    gateways,
    workers,
    call,
    result: async (gateway: number, method: string, params: object) =>
      // Tests read whatever the method returns.
      // oxlint-disable-next-line no-explicit-any
      ((await (await call(gateway, method, params)).json()) as { result: any }).result,
  };
}

test.skipIf(!nats)(
  'tasks survive their worker and their gateway, and are followed and posted by the others',
  async () => {
    const cluster = await openCluster();
    const receiver = await openReceiver();
    const requests = Array.from({ length: TASKS }, (_, n) => ({
      messageId: `m-${n}`,
      contextId: `kill-${n}`,
      role: 'ROLE_USER',
      parts: [{ data: { action: 'conformance.run_slowly', payload: { seconds: SECONDS } } }],
    }));
    const taskPushNotificationConfig = { url: receiver.url, id: 'hook' };
    const ids: string[] = [];
    for (const message of requests) {
      const configuration = { returnImmediately: true, taskPushNotificationConfig };
      ids.push((await cluster.result(0, 'SendMessage', { message, configuration })).task.id);
    }
    const streams = await Promise.all(ids.map((id) => cluster.call(1, 'SubscribeToTask', { id })));
    await eventually(() => expect(receiver.bodies).toHaveLength(TASKS), 30_000);
    cluster.workers[0]!.child.kill('SIGKILL');
    cluster.gateways[0]!.child.kill('SIGKILL');
    for (const stream of streams) {
      const events = (await stream.text()).split('\n\n').filter((one) => one.includes('data:'));
      expect(events.filter((one) => one.includes('artifactUpdate'))).toHaveLength(1);
      expect(events.at(-1)).toContain('TASK_STATE_COMPLETED');
    }
    for (const [n, message] of requests.entries())
      expect((await cluster.result(1, 'SendMessage', { message })).task).toMatchObject({
        id: ids[n],
        status: { state: 'TASK_STATE_COMPLETED' },
      });
    expect((await cluster.result(1, 'ListTasks', {})).totalSize).toBe(TASKS);
    const ended = () => receiver.bodies.filter((body) => body.includes('TASK_STATE_COMPLETED'));
    await eventually(() => expect(new Set(ended().map(idIn))).toEqual(new Set(ids)), 60_000);
    expect(new Set(ended()).size).toBe(TASKS);
  },
  240_000,
);
