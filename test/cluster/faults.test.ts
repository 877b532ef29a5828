/**
 * Real processes under faults, the short form of `npm run bench -- faults`: workers of the built
 * runtime on a real nats-server are killed, frozen and cut off under load (the long form has the
 * crash points, too). Then the auditor of the simulation reads everything that was stored and
 * accounts for every message. A failing run prints its seed (`TROUPE_FAULTS_SEED`).
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { buildWorker } from '../../bench/faults/bundle.ts';
import { cutOff, killServer, killWorkers, stopAndContinue } from '../../bench/faults/faults.ts';
import { faultsOf, lineOf, play, type Scenario } from '../../bench/faults/stage.ts';
import { natsServers } from '../servers/nats.ts';

const SEED = Number(process.env['TROUPE_FAULTS_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
/** A server on the same machine responds at once, so short timeouts suffice. */
const timings = { heartbeatMs: 50, deadAfterMs: 500, joinSettleMs: 100, minStayMs: 100 };
const KILLS = 5;

const scenario: Scenario = {
  name: 'trouble',
  what: 'workers killed, frozen and cut off, the server killed',
  cell: { timings, snapshotEvery: 20 },
  killers: true,
  async run(stage) {
    await killWorkers(stage, KILLS);
    await stopAndContinue(stage, 1_500);
    await cutOff(stage, 'refused', 1_000);
    await cutOff(stage, 'half-open', 1_000);
    await killServer(stage, 500);
  },
};

const none = natsServers().length === 0 ? ' (skipped: there is no nats-server here)' : '';
test.skipIf(none !== '')(
  `no message is lost or applied twice${none}, seed ${SEED}`,
  {
    timeout: 240_000,
  },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'troupe-faults-'));
    const program = await buildWorker();
    onTestFinished(() => {
      rmSync(folder, { recursive: true, force: true });
      rmSync(program.at(-1)!, { force: true });
    });
    const said: string[] = [];
    const say = (what: string) => void said.push(what);
    const load = { clients: 12, pauseMsMax: 400 };
    const outcome = await play(scenario, { seed: SEED, folder, program, ...load, say });
    const line = lineOf(outcome);
    const faults = faultsOf(outcome);
    expect({ line, said, faults }).toEqual({ line, said, faults: [] });
    expect(outcome.messages).toBeGreaterThan(100);
  },
);
