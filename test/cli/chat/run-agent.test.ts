import { describe, expect, it } from 'vitest';
import { runAgent } from '../../../cli/chat/run-agent.ts';
import { MAIN } from '../../channels/gateway/client.ts';
import { eventually } from '../../runtime/eventually.ts';
import { clientOf, runGateway } from '../gateway.ts';

describe('runAgent', () => {
  it('returns a failed run as a value, with its text and the reason', async () => {
    const { url, system } = await runGateway();
    const client = await clientOf(url);
    const run = runAgent(client, { message: 'hi', runId: 'bad' });
    await eventually(() => expect(system.running(MAIN)).toBe('bad'));
    system.fail(MAIN, { code: 'UNAUTHORIZED', message: 'the provider refuses the key' });
    await expect(run).resolves.toMatchObject({
      status: 'error',
      error: { code: 'UNAUTHORIZED', message: 'the provider refuses the key' },
    });
  });

  it('distinguishes a timed-out from an aborted run', async () => {
    const { url, system } = await runGateway();
    const client = await clientOf(url);
    const slow = runAgent(client, { message: 'hi', runId: 'slow' });
    await eventually(() => expect(system.running(MAIN)).toBe('slow'));
    system.fail(MAIN, { code: 'DEADLINE_EXCEEDED', message: 'too slow' }, 'timeout');
    await expect(slow).resolves.toMatchObject({ status: 'timeout' });
    const stopped = runAgent(client, { message: 'hi', runId: 'stopped' });
    await eventually(() => expect(system.running(MAIN)).toBe('stopped'));
    await client.request('chat.abort', { sessionKey: 'main', runId: 'stopped' });
    await expect(stopped).resolves.toMatchObject({ status: 'aborted' });
  });

  it('reports tools when they are called', async () => {
    const { url, system } = await runGateway();
    const client = await clientOf(url);
    const tools: string[] = [];
    const run = runAgent(
      client,
      { message: 'hi', runId: 't' },
      { onTool: (name) => tools.push(name) },
    );
    await eventually(() => expect(system.running(MAIN)).toBe('t'));
    system.tool(MAIN, { id: '1', name: 'clock', args: {} }, 'noon');
    system.finish(MAIN, 'It is noon.');
    await expect(run).resolves.toMatchObject({ text: 'It is noon.' });
    expect(tools).toEqual(['clock']);
  });
});
