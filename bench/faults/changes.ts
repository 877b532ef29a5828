/** Planned changes of a cluster while it is in use. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { FaultCell } from './cell.ts';
import type { Stage } from './stage.ts';

const PROBE_EVERY_MS = 100;
const LOOK_MS = 10;

/** Stops each worker in turn and starts it again. */
export async function rollingRestart(stage: Stage): Promise<void> {
  const { cell, say, chronicle } = stage;
  await observed(stage, async () => {
    for (const machine of cell.machines) {
      const fault = chronicle.begin(`SIGTERM of ${machine}, and its restart`);
      await cell.signal(machine, 'SIGTERM');
      say(`${machine} has ended`);
      await cell.start(machine);
      fault.ended();
      await cell.settled();
    }
  });
}

/**
 * Starts one more worker, always of the same name, and stops it, alternately in order and by kill.
 */
export async function comeAndGo(stage: Stage, everyMs: number, times: number): Promise<void> {
  const { cell, say, chronicle } = stage;
  const guest = 'guest';
  await cell.addMachine(guest);
  await observed(stage, async () => {
    for (let at = 0; at < times; at++) {
      await cell.start(guest, { again: true });
      await sleep(everyMs);
      say(`${guest} held ${cell.shardsOf(guest).length} shards`);
      const signal = at % 2 === 0 ? 'SIGTERM' : 'SIGKILL';
      const fault = chronicle.begin(`${signal} of ${guest}`);
      await cell.signal(guest, signal);
      await sleep(everyMs);
      fault.ended();
    }
  });
}

/** Stops all workers and the server; must be the last scenario. */
export async function serverLate(stage: Stage, lateMs: number): Promise<void> {
  const { cell, probes, chronicle } = stage;
  const fault = chronicle.begin(`all workers start ${lateMs} ms before NATS`);
  for (const machine of cell.machines) await cell.signal(machine, 'SIGKILL');
  await cell.server.kill('SIGKILL');
  const started = Promise.all(cell.machines.map((machine) => cell.start(machine)));
  await sleep(lateMs);
  await cell.restartServer();
  fault.ended();
  fault.recovered(await probes.recovered(probes.shards));
  await started;
}

/** Sends asks to every shard meanwhile; records the longest silence, the errors and the moves. */
export async function observed(stage: Stage, act: () => Promise<void>): Promise<void> {
  const { cell, probes, notes, wrong } = stage;
  const moves = new Moves(cell);
  const watch = probes.watch(PROBE_EVERY_MS);
  await act();
  const { asks, longestMs, refused, failed } = await watch.stop();
  const gap = `longest silence of an actor ${Math.round(longestMs)} ms`;
  notes.push(`${moves.stop()} moves of shards`, gap, `${refused} of ${asks} asks refused`);
  if (failed > 0) wrong.push(`${failed} of ${asks} asks failed in another way than "try again"`);
}

/** Counts how often a shard changes its owner. */
class Moves {
  readonly #epochs = new Map<number, number>();
  readonly #timer: NodeJS.Timeout;
  #count = 0;

  constructor(cell: FaultCell) {
    this.#timer = setInterval(() => {
      for (const { shard, epoch, state } of cell.gateway.status()) {
        if (state !== 'owned') continue;
        const before = this.#epochs.get(shard) ?? epoch;
        if (epoch > before) this.#count++;
        this.#epochs.set(shard, Math.max(epoch, before));
      }
    }, LOOK_MS);
  }

  stop(): number {
    clearInterval(this.#timer);
    return this.#count;
  }
}
