/** The embedded system as the program opens it, with the actors of the benchmarks. */
import { join } from 'node:path';
import { type Address, address } from '../../protocols/address.ts';
import type { Message } from '../../protocols/statechart.ts';
import {
  type ActorDefinition,
  createSystem,
  openEmbedded,
  type System,
  type SystemOptions,
} from '../../runtime/index.ts';
import { counter, relay } from './counter.ts';

/** The default of a new cell. */
export const SHARDS = 8;

/** The principal of requests in a benchmark. */
export const principal = { sub: 'bench', roles: ['operator'] };

/** Durability `process`, 8 shards, default limits and history unless given; `more` actors. */
export async function openSystem(
  folder: string,
  limits: NonNullable<SystemOptions['limits']> = {},
  more: readonly ActorDefinition[] = [],
  history: NonNullable<SystemOptions['history']> = {},
): Promise<System> {
  const ports = await openEmbedded({ path: join(folder, 'store'), durability: 'process' });
  return createSystem({
    ...ports,
    actors: [counter, relay, ...more],
    shards: SHARDS,
    limits,
    history,
    onAlarm: (what) => console.error(`bench: ${what}`),
  });
}

export const counterAddress = (key: string): Address => address('default', 'counter', key);

/** Sends a tell; throws when it is refused. */
export async function tell(system: System, to: Address, event: Message): Promise<void> {
  const answer = await system.tell(to, event, { principal });
  if (answer.kind === 'refused') throw new Error(`${to} refused: ${answer.error.message}`);
}

/** Sends an ask; throws unless it is answered. */
export async function ask(system: System, to: Address, event: Message): Promise<unknown> {
  const answer = await system.ask(to, event, { principal, timeoutMs: 30_000 });
  if (answer.kind === 'answered') return answer.result;
  throw new Error(`${to}: ${answer.kind === 'refused' ? answer.error.message : 'no answer'}`);
}

/** Runs `count` calls with at most `width` of them at once; each call receives its number. */
export async function inParallel(
  count: number,
  width: number,
  call: (at: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < count) await call(next++);
  };
  await Promise.all(Array.from({ length: Math.min(width, count) }, lane));
}
