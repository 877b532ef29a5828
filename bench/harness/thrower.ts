/** Sends balls into the ring of relays and observes when each has completed its hops. */
import type { System } from '../../runtime/index.ts';
import { ARRIVED, RING, relayAddress } from './counter.ts';
import { tell } from './system.ts';

/** Hops of a ball: a chain of messages may pass 32 actors. */
export const HOPS = 30;

export function thrower(system: System) {
  const thrown = new Map<number, () => void>();
  let last = 0;
  const close = system.bus.subscribe(ARRIVED, ({ payload }) => {
    const { id } = payload as { id: number };
    thrown.get(id)?.();
    thrown.delete(id);
  });
  const pass = async (at: number): Promise<void> => {
    const id = ++last;
    const arrived = new Promise<void>((resolve) => thrown.set(id, resolve));
    await tell(system, relayAddress(at % RING), { type: 'ball', id, left: HOPS });
    await arrived;
  };
  return { pass, close };
}
