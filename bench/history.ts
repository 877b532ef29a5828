/**
 * What history and watchers cost a durable turn. Systems that differ in nothing else take turns in
 * small blocks within one process, so that a slow moment of the machine meets all of them; a figure
 * is the median of the ratios of the blocks of one round.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { System } from '../runtime/index.ts';
import { ownThreadUs } from './harness/computer.ts';
import { defineScenario } from './harness/scenario.ts';
import { median } from './harness/statistics.ts';
import { ask, counterAddress, inParallel, openSystem, tell } from './harness/system.ts';

const ACTORS = 64;
/** Tells in flight. */
const WINDOW = 512;
const WARM_ROUNDS = 3;

const VARIANTS = ['none', 'same', 'summary', 'full', 'watched'] as const;
type Variant = (typeof VARIANTS)[number];
/** Distances without a common factor with the number of variants. */
const STEPS = [1, 2, 3, 4];

const actors = Array.from({ length: ACTORS }, (_, at) => counterAddress(`kept-${at}`));

export const history = defineScenario({
  name: 'history',
  question: 'what do history and watchers cost a durable turn?',
  secondsMax: 120,
  figures: {
    turnUs: { label: 'processor time of a turn without history, JavaScript thread', unit: 'µs' },
    same: { label: '  the same once more: the noise', unit: 'times' },
    summary: { label: '  with summaries (the default)', unit: 'times' },
    full: { label: '  with bodies', unit: 'times' },
    watched: { label: '  without history, one of 64 actors is watched', unit: 'times' },
  },
  async measure({ folder, pick }) {
    const systems = new Map<Variant, System>();
    for (const name of VARIANTS) systems.set(name, await openVariant(folder, name));
    const closed = new AbortController();
    const watched = systems.get('watched')!;
    const watching = consume(await watched.actors.turns(actors[0]!, closed.signal));
    const rounds: Record<Variant, number>[] = [];
    for (let round = 0; round < pick(40, 15, 1) + WARM_ROUNDS; round++)
      rounds.push(await measureRound(systems, round, pick(5_000, 4_000, 100)));
    closed.abort();
    await watching;
    for (const system of systems.values()) await system.stop();
    const counted = rounds.slice(WARM_ROUNDS);
    const share = (name: Variant) => median(counted.map((us) => us[name] / us.none));
    return {
      turnUs: median(counted.map(({ none }) => none)),
      same: share('same'),
      summary: share('summary'),
      full: share('full'),
      watched: share('watched'),
    };
  },
});

async function openVariant(folder: string, name: Variant): Promise<System> {
  await mkdir(join(folder, name));
  const keep = name === 'summary' || name === 'full' ? name : 'none';
  return openSystem(join(folder, name), {}, [], { types: { counter: { keep } } });
}

/** Each variant once. The order differs from round to round: one leaves work to the next. */
async function measureRound(
  systems: ReadonlyMap<Variant, System>,
  round: number,
  count: number,
): Promise<Record<Variant, number>> {
  const us = {} as Record<Variant, number>;
  for (let at = 0; at < VARIANTS.length; at++) {
    const name = VARIANTS[(at * STEPS[round % STEPS.length]! + round) % VARIANTS.length]!;
    us[name] = await turnUs(systems.get(name)!, count);
  }
  return us;
}

/** Processor time of a turn; the block ends when the last of its turns has replied. */
async function turnUs(system: System, count: number): Promise<number> {
  const before = ownThreadUs();
  await inParallel(count, WINDOW, (at) =>
    tell(system, actors[at % ACTORS]!, { type: 'add', by: 1 }),
  );
  await Promise.all(actors.map((actor) => ask(system, actor, { type: 'get' })));
  return (ownThreadUs() - before) / (count + ACTORS);
}

async function consume(turns: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of turns);
}
