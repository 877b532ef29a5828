/** The official client of the SDK against our endpoint, over both bindings, with real tasks. */
import { TaskState, type StreamResponse } from '@a2a-js/sdk';
import { describe, expect, it } from 'vitest';
import { called, resultIn, sent, serveAgent2Agent, taskIn } from './gateway.ts';
import { eventually } from '../../runtime/eventually.ts';

const casesOf = async (stream: AsyncIterable<StreamResponse>): Promise<string[]> => {
  const cases: string[] = [];
  for await (const { payload } of stream) {
    if (payload?.$case === 'statusUpdate') cases.push(TaskState[payload.value.status!.state]);
    else cases.push(payload!.$case);
  }
  return cases;
};

describe.each(['JSONRPC', 'HTTP+JSON'] as const)('a client over %s', (binding) => {
  it('sends a message and gets the result of its durable task', async () => {
    const gateway = await serveAgent2Agent();
    const client = await gateway.client({ binding });
    const task = taskIn(await client.sendMessage(called('echo_text', { text: 'xin chào' })));
    expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(resultIn(task)).toEqual({ text: 'xin chào' });
    expect(await client.getTask({ tenant: '', id: task.id })).toEqual(task);
    expect(gateway.faults).toEqual([]);
  });

  it('gets a task at once, subscribes to it, and sees its end', async () => {
    const gateway = await serveAgent2Agent();
    const client = await gateway.client({ binding });
    const request = called('hold_work', { gate: 'g' }, { returnImmediately: true });
    const task = taskIn(await client.sendMessage(request));
    expect(task.status?.state).toBe(TaskState.TASK_STATE_WORKING);
    await eventually(() => expect(gateway.gate.begun).toEqual(['g']));
    const stream = client.resubscribeTask({ tenant: '', id: task.id });
    const first = await stream.next();
    expect(first.value?.payload).toMatchObject({ $case: 'task', value: { id: task.id } });
    gateway.gate.open('g');
    expect(await casesOf(stream)).toEqual(['artifactUpdate', 'TASK_STATE_COMPLETED']);
    await expect(client.resubscribeTask({ tenant: '', id: task.id }).next()).rejects.toThrow(
      /has ended/,
    );
  });

  it('streams a message from the task to its end', async () => {
    const client = await (await serveAgent2Agent()).client({ binding });
    const cases = await casesOf(client.sendMessageStream(called('echo_text', { text: 'a' })));
    expect(cases[0]).toBe('task');
    expect(cases.slice(-2)).toEqual(['artifactUpdate', 'TASK_STATE_COMPLETED']);
  });

  it('repeats a message and finds the same task, which is executed once', async () => {
    const gateway = await serveAgent2Agent();
    const client = await gateway.client({ binding });
    const request = called('hold_work', { gate: 'once' }, { messageId: 'm-1' });
    const repeats = [1, 2, 3].map(() => client.sendMessage(request));
    await eventually(() => expect(gateway.gate.begun).toEqual(['once']));
    gateway.gate.open('once');
    const tasks = (await Promise.all(repeats)).map(taskIn);
    expect(new Set(tasks.map(({ id }) => id)).size).toBe(1);
    expect(gateway.gate.begun).toEqual(['once']);
    const other = called('hold_work', { gate: 'other' }, { messageId: 'm-1' });
    await expect(client.sendMessage(other)).rejects.toThrow(/another payload/);
  });

  it('gives input to a task that asks for it, once', async () => {
    const client = await (await serveAgent2Agent()).client({ binding });
    const asked = taskIn(await client.sendMessage(called('ask_word', {})));
    expect(asked.status).toMatchObject({
      state: TaskState.TASK_STATE_INPUT_REQUIRED,
      message: { parts: [{ content: { value: 'which word?' } }, { content: { $case: 'data' } }] },
    });
    const { id: taskId, contextId } = asked;
    const answer = sent({ text: 'rượu', taskId, contextId, messageId: 'answer' });
    const done = taskIn(await client.sendMessage(answer));
    expect(done).toMatchObject({ id: taskId, status: { state: TaskState.TASK_STATE_COMPLETED } });
    expect(resultIn(done)).toEqual({ word: 'rượu' });
    expect(taskIn(await client.sendMessage(answer)).id).toBe(taskId);
    const late = sent({ text: 'again', taskId, contextId });
    await expect(client.sendMessage(late)).rejects.toThrow(/has ended/);
  });

  it('ends its stream when the task asks for input', async () => {
    const client = await (await serveAgent2Agent()).client({ binding });
    const cases = await casesOf(client.sendMessageStream(called('ask_word', {})));
    expect(cases.at(-1)).toBe('TASK_STATE_INPUT_REQUIRED');
  });

  it('cancels a task, and cannot cancel one that has ended', async () => {
    const client = await (await serveAgent2Agent()).client({ binding });
    const request = called('hold_work', { gate: 'never' }, { returnImmediately: true });
    const { id } = taskIn(await client.sendMessage(request));
    const cancelled = await client.cancelTask({ tenant: '', id, metadata: undefined });
    expect(cancelled.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    await expect(client.cancelTask({ tenant: '', id, metadata: undefined })).rejects.toMatchObject({
      name: expect.stringContaining('TaskNotCancelableError'),
    });
  });

  it('lists its own tasks in pages, by context and by state', async () => {
    const gateway = await serveAgent2Agent();
    const client = await gateway.client({ binding });
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) {
      const request = called('echo_text', { text: String(n) }, { contextId: `c${n % 2}` });
      ids.unshift(taskIn(await client.sendMessage(request)).id);
    }
    const list = (more: object = {}) =>
      client.listTasks({
        tenant: '',
        contextId: '',
        status: TaskState.TASK_STATE_UNSPECIFIED,
        pageToken: '',
        statusTimestampAfter: undefined,
        ...more,
      });
    const seen: string[] = [];
    for (let pageToken = ''; ; ) {
      const page = await list({ pageSize: 2, pageToken });
      expect(page).toMatchObject({ pageSize: 2, totalSize: 5 });
      seen.push(...page.tasks.map(({ id }) => id));
      ({ nextPageToken: pageToken } = page);
      if (pageToken === '') break;
    }
    expect(seen.toSorted()).toEqual(ids.toSorted());
    expect(new Set(seen).size).toBe(5);
    const { timestamp } = (await list()).tasks[1]!.status!;
    const since = await list({ statusTimestampAfter: timestamp });
    expect(since.tasks.map(({ id }) => id)).toContain((await list()).tasks[1]!.id);
    expect((await list({ contextId: 'c1' })).totalSize).toBe(2);
    expect((await list({ status: TaskState.TASK_STATE_FAILED })).totalSize).toBe(0);
    expect((await list()).tasks[0]?.artifacts).toEqual([]);
    expect((await list({ includeArtifacts: true })).tasks[0]?.artifacts).toHaveLength(1);
    await expect(list({ pageToken: 'bm9uZQ' })).rejects.toThrow(/pageToken/);
    await expect(list({ pageSize: 101 })).rejects.toThrow(/pageSize/);
  });

  it('reaches only what is its own: other principals and tenants see nothing', async () => {
    const gateway = await serveAgent2Agent();
    const client = await gateway.client({ binding });
    const { id } = taskIn(await client.sendMessage(called('echo_text', { text: 'a' })));
    for (const as of ['clerk', 'mallory']) {
      const other = await gateway.client({ binding, as });
      const notFound = { name: expect.stringContaining('TaskNotFoundError') };
      await expect(other.getTask({ tenant: '', id })).rejects.toMatchObject(notFound);
      await expect(other.cancelTask({ tenant: '', id, metadata: undefined })).rejects.toMatchObject(
        notFound,
      );
      await expect(other.resubscribeTask({ tenant: '', id }).next()).rejects.toMatchObject(
        notFound,
      );
      const { tasks } = await other.listTasks({
        tenant: '',
        contextId: '',
        status: TaskState.TASK_STATE_UNSPECIFIED,
        pageToken: '',
        statusTimestampAfter: undefined,
      });
      expect(tasks).toEqual([]);
    }
  });

  it('chats: a text is a message to the agent, and its context is the conversation', async () => {
    const client = await (await serveAgent2Agent()).client({ binding, agent: 'main' });
    const first = taskIn(await client.sendMessage(sent({ text: 'chào' })));
    expect(resultIn(first)).toBe('main heard chào');
    const { contextId } = first;
    expect(contextId).not.toBe('');
    const second = taskIn(await client.sendMessage(sent({ text: 'again', contextId })));
    expect(second.contextId).toBe(contextId);
    expect(second.artifacts[0]?.metadata).toMatchObject({ session_key: `main/${contextId}` });
    expect(second.id).not.toBe(first.id);
  });

  it('learns what is wrong with a message, and what is not offered', async () => {
    const client = await (await serveAgent2Agent()).client({ binding });
    await expect(client.sendMessage(called('echo_text', { text: 5 }))).rejects.toThrow(/text/);
    await expect(client.sendMessage(called('guard_door', { text: 'a' }))).rejects.toThrow(
      /not offered/,
    );
    const failed = taskIn(await client.sendMessage(called('fail_always', {})));
    expect(failed).toMatchObject({
      status: {
        state: TaskState.TASK_STATE_FAILED,
        message: { parts: [{ content: { value: 'never good enough' } }] },
      },
      metadata: { 'troupe/task': { error: { code: 'INVALID_ARGUMENT' } } },
    });
    await expect(client.getTask({ tenant: '', id: 'none' })).rejects.toMatchObject({
      name: expect.stringContaining('TaskNotFoundError'),
    });
  });
});
