/** What a client reads back of a task: its history, at the address of its agent only. */
import { Role, type Task, TaskState } from '@a2a-js/sdk';
import { expect, test } from 'vitest';
import { called, sent, serveAgent2Agent, taskIn } from './gateway.ts';

const said = ({ history }: Task): readonly unknown[] =>
  history.map(({ role, parts }) => [Role[role], parts[0]?.content?.value]);

const list = {
  tenant: '',
  contextId: '',
  status: TaskState.TASK_STATE_UNSPECIFIED,
  pageToken: '',
  statusTimestampAfter: undefined,
};

test.each(['JSONRPC', 'HTTP+JSON'] as const)(
  'over %s, the history has the messages of both, the newest that were asked for',
  async (binding) => {
    const client = await (await serveAgent2Agent()).client({ binding });
    const request = called('ask_word', {}, { messageId: 'first' });
    const asked = taskIn(await client.sendMessage(request));
    expect(said(asked)).toEqual([['ROLE_USER', { action: 'test.ask_word', payload: {} }]]);
    const { id, contextId } = asked;
    const answer = sent({
      text: 'an installation-secret',
      taskId: id,
      contextId,
      messageId: 'second',
    });
    const done = taskIn(await client.sendMessage(answer));
    expect(done.history.map(({ messageId }) => messageId)).toEqual([
      'first',
      asked.status?.message?.messageId,
      'second',
    ]);
    expect(said(done).slice(1)).toEqual([
      ['ROLE_AGENT', 'which word?'],
      ['ROLE_USER', 'an ***'],
    ]);
    const lengths: number[] = [];
    for (const historyLength of [undefined, 0, 1, 2, 50]) {
      const read = await client.getTask({ tenant: '', id, historyLength });
      lengths.push(read.history.length);
      if (historyLength === 1) expect(read.history[0]?.messageId).toBe('second');
    }
    expect(lengths).toEqual([3, 0, 1, 2, 3]);
    expect((await client.listTasks(list)).tasks[0]?.history).toEqual([]);
    expect((await client.listTasks({ ...list, historyLength: 2 })).tasks[0]?.history).toHaveLength(
      2,
    );
    await expect(client.getTask({ tenant: '', id, historyLength: -1 })).rejects.toThrow(
      /historyLength/,
    );
  },
);

test('a long message is left out of the history, and the task is done', async () => {
  const client = await (await serveAgent2Agent()).client();
  const text = 'x'.repeat(70_000);
  const done = taskIn(await client.sendMessage(called('echo_text', { text })));
  expect(done.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
  expect(said(done)).toEqual([['ROLE_USER', expect.stringContaining('not shown')]]);
});

test('a stream that continues a task by its input reports that it works again', async () => {
  const client = await (await serveAgent2Agent()).client();
  const asked = taskIn(await client.sendMessage(called('ask_word', {})));
  const { id: taskId, contextId } = asked;
  const cases: string[] = [];
  for await (const { payload } of client.sendMessageStream(sent({ text: 'a', taskId, contextId })))
    cases.push(
      payload?.$case === 'statusUpdate'
        ? TaskState[payload.value.status!.state]
        : String(payload?.$case),
    );
  expect(cases).toEqual(['task', 'TASK_STATE_WORKING', 'artifactUpdate', 'TASK_STATE_COMPLETED']);
});

test.each(['JSONRPC', 'HTTP+JSON'] as const)(
  'over %s, a task is not found at the address of another agent',
  async (binding) => {
    const gateway = await serveAgent2Agent();
    const tester = await gateway.client({ binding });
    const main = await gateway.client({ binding, agent: 'main' });
    const notFound = { name: expect.stringContaining('TaskNotFoundError') };
    const { id } = taskIn(await tester.sendMessage(called('ask_word', {})));
    const config = {
      tenant: '',
      id: 'mine',
      taskId: id,
      url: 'https://receiver.example/',
      token: '',
      authentication: undefined,
    };
    await tester.createTaskPushNotificationConfig(config);
    const named = { tenant: '', taskId: id, id: 'mine' };
    for (const request of [
      () => main.getTask({ tenant: '', id }),
      () => main.cancelTask({ tenant: '', id, metadata: undefined }),
      () => main.resubscribeTask({ tenant: '', id }).next(),
      () => main.sendMessage(sent({ text: 'a', taskId: id })),
      () => main.createTaskPushNotificationConfig({ ...config, id: 'other' }),
      () => main.getTaskPushNotificationConfig(named),
      () => main.listTaskPushNotificationConfig({ ...named, pageSize: 0, pageToken: '' }),
      () => main.deleteTaskPushNotificationConfig(named),
    ])
      await expect(request()).rejects.toMatchObject(notFound);
    expect((await main.listTasks(list)).tasks).toEqual([]);
    expect((await tester.listTasks(list)).tasks).toMatchObject([{ id }]);
    const chat = taskIn(await main.sendMessage(sent({ text: 'chào' })));
    await expect(tester.getTask({ tenant: '', id: chat.id })).rejects.toMatchObject(notFound);
    expect(await main.getTask({ tenant: '', id: chat.id })).toMatchObject({
      history: [{ parts: [{ content: { value: 'chào' } }] }],
    });
  },
);

test('pages stay the same while tasks are created and changed', async () => {
  const gateway = await serveAgent2Agent();
  const client = await gateway.client();
  const ids: string[] = [];
  const send = async () =>
    void ids.push(taskIn(await client.sendMessage(called('echo_text', { text: 'a' }))).id);
  for (let n = 0; n < 6; n++) await send();
  const whole = (await client.listTasks({ ...list, pageSize: 6 })).tasks.map(({ id }) => id);
  const first = await client.listTasks({ ...list, pageSize: 2 });
  await send();
  const second = await client.listTasks({ ...list, pageSize: 2, pageToken: first.nextPageToken });
  await send();
  const third = await client.listTasks({ ...list, pageSize: 2, pageToken: second.nextPageToken });
  const seen = [first, second, third].flatMap(({ tasks }) => tasks.map(({ id }) => id));
  expect(seen).toEqual(whole);
  expect(third.totalSize).toBe(8);
});
