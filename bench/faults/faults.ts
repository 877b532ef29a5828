/** Faults: what a scenario does to the processes of a cell. Each fault is measured and undone. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { OpenFault } from '../../loadtest/faults/chronicle.ts';
import type { CrashPoint } from './crash-points.ts';
import type { Stage } from './stage.ts';
import { until } from './until.ts';

/** kill -9 of workers, one after the other, at random moments. */
export async function killWorkers(stage: Stage, kills: number): Promise<void> {
  const { cell, random } = stage;
  for (let kill = 1; kill <= kills; kill++) {
    await sleep(random.whole(0, 1_000));
    const name = random.pick(cell.holders);
    const fault = await hit(stage, name, `kill -9 of ${name}, ${kill} of ${kills}`, () =>
      cell.signal(name, 'SIGKILL'),
    );
    await cell.start(name);
    fault.ended();
    await cell.settled();
  }
}

/**
 * Stops the worker with SIGSTOP and continues it after others took over its shards. It must notice.
 */
export async function stopAndContinue(stage: Stage, forMs: number): Promise<void> {
  const { cell, random } = stage;
  const name = random.pick(cell.holders);
  const over = sleep(forMs);
  const fault = await hit(stage, name, `SIGSTOP of ${name} for ${forMs} ms`, () =>
    cell.signal(name, 'SIGSTOP'),
  );
  await over;
  await cell.signal(name, 'SIGCONT');
  fault.ended();
  await cell.settled();
}

/** Forwards no bytes, or cuts and refuses every connection. */
export async function cutOff(stage: Stage, how: 'half-open' | 'refused', forMs: number) {
  const { cell, random } = stage;
  const name = random.pick(cell.holders);
  const proxy = cell.proxy(name);
  const over = sleep(forMs);
  const fault = await hit(stage, name, `${name} is ${how} for ${forMs} ms`, async () => {
    if (how === 'half-open') return proxy.pause();
    proxy.refuse(true);
    proxy.cut();
  });
  await over;
  proxy.refuse(false);
  proxy.resume();
  // a connection that was opened while no bytes passed is useless
  if (how === 'half-open') proxy.cut();
  fault.ended();
  await cell.settled();
}

/** Delays every byte between a worker and NATS, in both directions. */
export async function slowDown(stage: Stage, delayMs: number, forMs: number): Promise<void> {
  const { cell, random } = stage;
  const name = random.pick(cell.holders);
  const over = sleep(forMs);
  const fault = await hit(stage, name, `${name} is ${delayMs} ms away for ${forMs} ms`, async () =>
    cell.proxy(name).delay(delayMs),
  );
  await over;
  cell.proxy(name).delay(0);
  fault.ended();
  await cell.settled();
}

/** kill -9 of the server, and its restart after a time. */
export async function killServer(stage: Stage, downMs: number): Promise<void> {
  const { cell, probes, chronicle, say } = stage;
  const what = `kill -9 of NATS, down for ${downMs} ms`;
  say(what);
  const fault = chronicle.begin(what);
  await cell.server.kill('SIGKILL');
  await sleep(downMs);
  await cell.restartServer();
  fault.ended();
  fault.recovered(await probes.recovered(probes.shards));
  await cell.settled();
}

/** Ends one worker after the other on one machine, each at another crash point. */
export async function crashAt(stage: Stage, points: readonly CrashPoint[]): Promise<void> {
  const { cell, random, say, notes, chronicle } = stage;
  const machine = random.pick(cell.holders);
  await cell.signal(machine, 'SIGKILL');
  for (const point of points) {
    await cell.start(machine, { crashAt: point });
    // Hand-overs need a cause: a worker that drains has many.
    if (point.endsWith('HandOff')) {
      await until(`${machine} holds a shard`, () => cell.shardsOf(machine).length > 0);
      void cell.signal(machine, 'SIGTERM');
    }
    const fault = chronicle.begin(`${machine} kills itself at ${point}`);
    await cell.died(machine);
    fault.ended();
    say(`${machine} died at ${point}`);
  }
  await cell.start(machine);
  await cell.settled();
  notes.push(`${points.length} crash points`);
}

/** Causes the fault and records, for each shard of the worker, when its actors take turns again. */
async function hit(
  { cell, probes, chronicle, say }: Stage,
  name: string,
  what: string,
  act: () => Promise<void>,
): Promise<OpenFault> {
  const shards = cell.shardsOf(name);
  const fault = chronicle.begin(what);
  const acted = act();
  const times = await probes.recovered(shards);
  await acted;
  fault.recovered(times);
  say(`${what}: ${times.map((ms) => Math.round(ms)).join(' ')} ms`);
  return fault;
}
