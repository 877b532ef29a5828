/** Secrets of the installation in what a client reads of a task. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { called, sent, serveAgent2Agent, taskIn } from './gateway.ts';
import { eventually } from '../../runtime/eventually.ts';

test('questions, failures, streams, lists and notifications show no secret', async () => {
  const got: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (part: string) => (body += part));
    request.on('end', () => {
      got.push(body);
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const client = await (await serveAgent2Agent()).client();
  const asked = taskIn(await client.sendMessage(called('tell_secret', {})));
  const { id } = asked;
  await client.createTaskPushNotificationConfig({
    tenant: '',
    id: '',
    taskId: id,
    url: `http://127.0.0.1:${port}/`,
    token: '',
    authentication: undefined,
  });
  const seen: unknown[] = [asked];
  for await (const one of client.sendMessageStream(sent({ text: 'a', taskId: id }))) seen.push(one);
  seen.push(await client.getTask({ tenant: '', id }));
  await eventually(() => expect(got.at(-1)).toContain('TASK_STATE_FAILED'));
  const texts = [JSON.stringify(seen), ...got].join();
  expect(texts).not.toContain('installation-secret');
  expect(texts).toContain('the ***?');
  expect(got.join()).toContain('not the ***');
});
