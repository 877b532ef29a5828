/**
 * `npm run bench -- faults`: scenario by scenario, one line of figures each; what is wrong comes
 * below it.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildWorker } from './bundle.ts';
import { smallDisk } from './room.ts';
import { scenariosOf } from './scenarios.ts';
import { faultsOf, lineOf, play, type Scenario } from './stage.ts';

export type FaultsOptions = {
  readonly kills: number;
  /** name of the one scenario to run; default all */
  readonly only?: string;
  /** default random; printed with every line */
  readonly seed?: number;
};

const FAULTS_SHOWN = 20;
const CLIENTS = 16;
const PAUSE_MS_MAX = 400;

/** Answers the exit code: 1 when anything was lost, doubled or wrong. */
export async function faults(options: FaultsOptions): Promise<number> {
  const { kills, only, seed = Math.floor(Math.random() * 2 ** 31) } = options;
  const all = scenariosOf(kills);
  const chosen = only === undefined ? all : all.filter(({ name }) => name === only);
  if (chosen.length === 0)
    throw new Error(`there is no scenario ${only}: ${all.map(({ name }) => name).join(', ')}`);
  const program = await buildWorker();
  let wrong = 0;
  for (const scenario of chosen) wrong += await one(scenario, seed, program);
  rmSync(program.at(-1)!, { force: true });
  return wrong > 0 ? 1 : 0;
}

/** Answers how much is wrong. What the processes said is kept where anything is. */
async function one(scenario: Scenario, seed: number, program: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), `troupe-faults-${scenario.name}-`));
  const begun = performance.now();
  const say = (what: string) =>
    console.error(`  … ${((performance.now() - begun) / 1_000).toFixed(1)} s ${what}`);
  const { diskMegabytes } = scenario;
  const unmount = diskMegabytes ? smallDisk(join(folder, 'nats'), diskMegabytes) : () => {};
  if (!unmount) {
    console.log(`${scenario.name.padEnd(14)} left out: this user may not mount a disk in memory`);
    return 0;
  }
  const load = { clients: CLIENTS, pauseMsMax: PAUSE_MS_MAX };
  const outcome = await play(scenario, { seed, folder, program, ...load, say }).finally(unmount);
  const found = faultsOf(outcome);
  console.log(lineOf(outcome));
  for (const fault of found.slice(0, FAULTS_SHOWN)) console.log(`    ${fault}`);
  if (found.length > FAULTS_SHOWN) console.log(`    and ${found.length - FAULTS_SHOWN} more`);
  if (found.length > 0) console.log(`    what the processes said: ${folder}`);
  else rmSync(folder, { recursive: true, force: true });
  return found.length;
}
