import { createMemoryStore } from '../../../runtime/log/memory.ts';
import { systemClock } from '../../../runtime/clock/clock.ts';
import { logContract } from './contract.ts';

for (const atomic of [true, false]) {
  logContract(`memory, ${atomic ? 'atomic' : 'not atomic'}`, async () => {
    const { log, state } = createMemoryStore({ clock: systemClock, atomic });
    return { log, ...(atomic ? { state } : {}), dispose: () => log.close() };
  });
}
