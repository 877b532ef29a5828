import { expect, it } from 'vitest';
import { InProcessBus } from '../../../runtime/bus/in-process.ts';
import { eventually } from '../eventually.ts';
import { busContract } from './contract.ts';

busContract('in process', async () => ({ bus: new InProcessBus() }));

it('delivers to the others when a handler throws, and the error is not swallowed', async () => {
  const bus = new InProcessBus();
  const seen: unknown[] = [];
  const thrown: unknown[] = [];
  const listeners = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.once('uncaughtException', (error) => thrown.push(error.message));
  bus.subscribe('s', () => {
    throw new Error('of the handler');
  });
  bus.subscribe('s', ({ payload }) => seen.push(payload));
  bus.publish('s', 1);
  await eventually(() => expect([seen, thrown]).toEqual([[1], ['of the handler']]));
  for (const listener of listeners) process.on('uncaughtException', listener);
  await bus.close();
});
