/** Work that waits for a node: its order, its bounds, and which connections receive it. */
import { describe, expect, it } from 'vitest';
import { type DeviceDrained, WAITING_MAX } from '../../../protocols/device.ts';
import { Stepped } from './stepped.ts';
import { asks, online } from './walk.ts';

const code = (name: string) => ({ error: { code: name } });

describe('what waits for a node', () => {
  const item = (itemId: string, changes: object = {}) => ({
    type: 'device.enqueue',
    itemId,
    kind: 'note',
    priority: 'normal',
    expiresInMs: 10_000,
    ...changes,
  });

  it('is shown the most urgent first, stays until it is acknowledged, and expires', () => {
    const device = Stepped.node();
    device.ask(item('a', { priority: 'low' }));
    device.ask(item('b'));
    device.ask(item('c', { priority: 'high', expiresInMs: 5_000 }));
    expect(device.ask(item('b'))).toMatchObject({ result: { itemId: 'b', waiting: 3 } });
    const shown = () => {
      const drained = device.ask({ type: 'device.drain', max: 2 })?.result as DeviceDrained;
      return [drained.items.map(({ itemId }) => itemId), drained.more];
    };
    expect(shown()).toEqual([['c', 'b'], true]);
    expect(device.ask({ type: 'device.ack', itemIds: ['b', 'x'] })).toMatchObject({
      result: { acked: 1 },
    });
    device.pass(5_000);
    expect(shown()).toEqual([['a'], false]);
    device.pass(5_000);
    expect(device.context.waiting).toEqual([]);
  });

  it('is announced when the node is connected, and refused above the bound or without the role', () => {
    const device = Stepped.node();
    for (let n = 0; n < WAITING_MAX; n++) device.ask(item(`i${n}`));
    expect(device.ask(item('more'))).toMatchObject(code('RATE_LIMIT_EXCEEDED'));
    device.ask(online({ approved: true }));
    expect(device.notices.at(-1)).toMatchObject({ type: 'device.work', connId: 'c1' });
    const operator = new Stepped();
    operator.ask(asks({ role: 'operator', scopes: ['operator.read'], approved: true }));
    expect(operator.ask(item('a'))).toMatchObject(code('FORBIDDEN'));
    expect(operator.ask(item('a', { kind: '' }))).toMatchObject(code('INVALID_ARGUMENT'));
  });
});
