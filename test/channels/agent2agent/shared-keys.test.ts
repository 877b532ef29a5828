/** A repeat by another principal of a request whose key the tenant shares. */
import { type SendMessageRequest, TaskState } from '@a2a-js/sdk';
import { expect, test } from 'vitest';
import { PUSH_INDEX } from '../../../protocols/push.ts';
import { called, sent, serveAgent2Agent, taskIn } from './gateway.ts';
import { eventually } from '../../runtime/eventually.ts';

const push = { tenant: '', id: '', taskId: '', url: 'https://r.example/', token: '' };
const withPush = (request: SendMessageRequest): SendMessageRequest => ({
  ...request,
  configuration: {
    ...request.configuration!,
    taskPushNotificationConfig: { ...push, authentication: undefined },
  },
});

test.each(['JSONRPC', 'HTTP+JSON'] as const)(
  'over %s, it gets the task without what its caller has said, and no notifications',
  async (binding) => {
    const gateway = await serveAgent2Agent();
    const alice = await gateway.client({ binding });
    const clerk = await gateway.client({ binding, as: 'clerk' });
    const request = called('share_key', {}, { messageId: 'one', contextId: 'shared' });
    const { id: taskId } = taskIn(await alice.sendMessage(request));
    await alice.sendMessage(sent({ text: 'my private pin', taskId }));
    await expect(clerk.getTask({ tenant: '', id: taskId })).rejects.toThrow(/not found/i);
    for (const returnImmediately of [false, true]) {
      const configuration = { ...request.configuration!, returnImmediately };
      const found = taskIn(await clerk.sendMessage({ ...request, configuration }));
      expect(found).toMatchObject({ id: taskId, history: [] });
    }
    const seen: unknown[] = [];
    for await (const { payload } of clerk.sendMessageStream(request)) seen.push(payload);
    expect(seen).toMatchObject([{ $case: 'task', value: { id: taskId, history: [] } }]);
    await expect(clerk.sendMessage(withPush(request))).rejects.toThrow(/not found/i);
    expect(gateway.system.index.list(PUSH_INDEX, 'acme')).toEqual([]);
    const own = taskIn(await alice.sendMessage(withPush(request)));
    expect(own.history.map(({ parts }) => parts[0]?.content?.value)).toContain('my private pin');
    expect(own.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    await eventually(() => expect(gateway.system.index.list(PUSH_INDEX, 'acme')).toHaveLength(1));
  },
);
