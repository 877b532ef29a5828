/** Faults: what a scenario does to the processes of a cell, each measured and undone again. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { CrashPoint } from './crash-points.ts';
import type { Stage } from './stage.ts';
import { until } from './until.ts';

/** kill -9 of workers, one after the other, at random moments. */
export async function killWorkers(stage: Stage, kills: number): Promise<void> {
  const { cell, random } = stage;
  for (let kill = 1; kill <= kills; kill++) {
    await sleep(random.whole(0, 1_000));
    const name = random.pick(cell.holders);
    await hit(stage, name, `kill -9 of ${name}, ${kill} of ${kills}`, () =>
      cell.signal(name, 'SIGKILL'),
    );
    await cell.start(name);
    await cell.settled();
  }
}

/**
 * The worker falls silent and comes back when others took its shards: it must find out.
 */
export async function stopAndContinue(stage: Stage, forMs: number): Promise<void> {
  const { cell, random } = stage;
  const name = random.pick(cell.holders);
  const over = sleep(forMs);
  await hit(stage, name, `SIGSTOP of ${name} for ${forMs} ms`, () => cell.signal(name, 'SIGSTOP'));
  await over;
  await cell.signal(name, 'SIGCONT');
  await cell.settled();
}

/** No byte passes, or every connection is cut and refused. */
export async function cutOff(stage: Stage, how: 'half-open' | 'refused', forMs: number) {
  const { cell, random } = stage;
  const name = random.pick(cell.holders);
  const proxy = cell.proxy(name);
  const over = sleep(forMs);
  await hit(stage, name, `${name} is ${how} for ${forMs} ms`, async () => {
    if (how === 'half-open') return proxy.pause();
    proxy.refuse(true);
    proxy.cut();
  });
  await over;
  proxy.refuse(false);
  proxy.resume();
  // what was connected while no byte passed is of no use to anybody
  if (how === 'half-open') proxy.cut();
  await cell.settled();
}

/** Every byte between a worker and NATS takes so much longer, each way. */
export async function slowDown(stage: Stage, delayMs: number, forMs: number): Promise<void> {
  const { cell, random } = stage;
  const name = random.pick(cell.holders);
  const over = sleep(forMs);
  await hit(stage, name, `${name} is ${delayMs} ms away for ${forMs} ms`, async () =>
    cell.proxy(name).delay(delayMs),
  );
  await over;
  cell.proxy(name).delay(0);
  await cell.settled();
}

/** kill -9 of the server, and its restart after so long. */
export async function killServer(stage: Stage, downMs: number): Promise<void> {
  const { cell, probes, recoveries, say } = stage;
  say(`kill -9 of NATS, down for ${downMs} ms`);
  await cell.server.kill('SIGKILL');
  await sleep(downMs);
  await cell.restartServer();
  recoveries.push(...(await probes.recovered(probes.shards)));
  await cell.settled();
}

/** On one machine a worker after the other dies, each at another point. */
export async function crashAt(stage: Stage, points: readonly CrashPoint[]): Promise<void> {
  const { cell, random, say, notes } = stage;
  const machine = random.pick(cell.holders);
  await cell.signal(machine, 'SIGKILL');
  for (const point of points) {
    await cell.start(machine, { crashAt: point });
    // Hand-overs do not come by themselves: a worker that is told to end has many.
    if (point.endsWith('HandOff')) {
      await until(`${machine} holds a shard`, () => cell.shardsOf(machine).length > 0);
      void cell.signal(machine, 'SIGTERM');
    }
    await cell.died(machine);
    say(`${machine} died at ${point}`);
  }
  await cell.start(machine);
  await cell.settled();
  notes.push(`${points.length} crash points`);
}

/** Does it, and notes for each shard that the worker held when its actors take turns again. */
async function hit(
  { cell, probes, recoveries, say }: Stage,
  name: string,
  what: string,
  act: () => Promise<void>,
): Promise<void> {
  const shards = cell.shardsOf(name);
  const acted = act();
  const times = await probes.recovered(shards);
  await acted;
  recoveries.push(...times);
  say(`${what}: ${times.map((ms) => Math.round(ms)).join(' ')} ms`);
}
