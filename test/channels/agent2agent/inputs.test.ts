/** Messages that are inputs of a task: each is accepted once, whatever the task asks next. */
import { type Task, TaskState } from '@a2a-js/sdk';
import { expect, it, test } from 'vitest';
import { called, resultIn, sent, serveAgent2Agent, taskIn } from './gateway.ts';

const questionIn = ({ status }: Task): unknown => status?.message?.parts[0]?.content?.value;

test.each(['JSONRPC', 'HTTP+JSON'] as const)(
  'over %s, a repeated input changes nothing; another one with its messageId is refused',
  async (binding) => {
    const client = await (await serveAgent2Agent()).client({ binding });
    const { id: taskId } = taskIn(await client.sendMessage(called('ask_thrice', {})));
    const send = async (messageId: string, text: string) =>
      taskIn(await client.sendMessage(sent({ text, taskId, messageId })));
    // As an answer to the second question it would be a number.
    expect(questionIn(await send('one', '7'))).toBe('a number?');
    expect(questionIn(await send('one', '7'))).toBe('a number?');
    await expect(send('one', '8')).rejects.toThrow(/another input/);
    const both = await Promise.all([send('two', '8'), send('two', '8'), send('one', '7')]);
    for (const task of both) expect(task.id).toBe(taskId);
    for (const [messageId, text] of [
      ['one', '7'],
      ['two', '8'],
    ] as const)
      expect(questionIn(await send(messageId, text))).toBe('all right?');
    await expect(send('three', 'maybe')).rejects.toThrow(/approval/);
    const done = await send('four', 'Yes');
    expect(resultIn(done)).toEqual({ inputs: ['7', 8, true] });
    const again = await send('four', 'Yes');
    expect(again.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(again.history).toEqual(done.history);
    await expect(send('five', 'Yes')).rejects.toThrow(/ended/);
  },
);

it.each([
  [{ data: { approved: true } }, true],
  [{ data: { approved: false } }, false],
  [{ data: true }, true],
  [{ text: 'no' }, false],
  [{ text: 'true' }, true],
  [{ text: '{"approved": false}' }, false],
])('the answer %j to an approval is %s for the work', async (answer, expected) => {
  const client = await (await serveAgent2Agent()).client();
  const { id: taskId } = taskIn(await client.sendMessage(called('ask_thrice', {})));
  for (const text of ['a', '1']) await client.sendMessage(sent({ text, taskId }));
  for (const wrong of [{ data: { approved: 'no' } }, { data: { data: 'no' } }, { text: 'nope' }])
    await expect(client.sendMessage(sent({ ...wrong, taskId }))).rejects.toThrow(/approval/);
  const done = taskIn(await client.sendMessage(sent({ ...answer, taskId })));
  expect(resultIn(done)).toEqual({ inputs: ['a', 1, expected] });
});
