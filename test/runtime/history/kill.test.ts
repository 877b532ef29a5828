/**
 * A process is killed with SIGKILL at any moment, so also between a segment and its trim, several
 * times on one folder. Every turn of its shard is in the history of its actor, once, and each
 * message that was accepted has a turn.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { createSystem, openEmbedded } from '../../../runtime/index.ts';
import { eventually } from '../eventually.ts';
import { bundle, type Program } from '../log/child.ts';
import { lamp, lampType } from './lamps.ts';

const KILLS = 4;
/** Lines after which a process is killed; each is 32 messages. */
const LINES = [31, 47, 23, 38];

let program: Program;
beforeAll(async () => {
  program = await bundle(join(import.meta.dirname, 'worker.program.ts'));
});
afterAll(() => program.remove());

it.each(['summary', 'full'] as const)(
  'killed again and again, history of kind %s has each turn once',
  {
    timeout: 120_000,
  },
  async (keep) => {
    const path = mkdtempSync(join(tmpdir(), 'troupe-history-kill-'));
    onTestFinished(() => rmSync(path, { recursive: true, force: true }));
    let accepted = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      const child = program.start([path, keep]);
      await eventually(() => {
        if (child.lines().length < LINES[kill]!) throw new Error(`it is slow: ${child.stderr()}`);
      });
      child.process.kill('SIGKILL');
      await child.ended;
      accepted += child.lines().length * 32;
    }
    const ports = await openEmbedded({ path });
    const system = await createSystem({ ...ports, actors: [lampType(keep)], shards: 1 });
    onTestFinished(() => system.stop());
    await eventually(() => {
      expect(system.status()[0]).toMatchObject({ state: 'owned', lag: 0 });
      expect(system.status()[0]).not.toHaveProperty('lagUnknown');
    });
    await eventually(() => {
      for (const n of [0, 1, 2]) expect(system.inspect(lamp(n))?.value).toBe('off');
    });
    const last = system.status()[0]!.turnNo;
    const numbers: number[] = [];
    for (const actor of [lamp(0), lamp(1), lamp(2)]) {
      const { turns } = await system.actors.history(actor, { limit: 100_000 });
      numbers.push(...turns.map(({ turn }) => turn));
    }
    numbers.sort((a, b) => a - b);
    expect(numbers).toEqual(Array.from({ length: last }, (_, at) => at + 1));
    expect(accepted).toBeGreaterThan(4_000);
    expect(last).toBeGreaterThanOrEqual(accepted);
  },
);
