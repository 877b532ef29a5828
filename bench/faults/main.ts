/**
 * `npm run bench -- faults`: runs the scenarios, prints one line of figures for each, and below it
 * what is wrong.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildWorker } from './bundle.ts';
import type { AccountFiles } from '../../loadtest/faults/document.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { accountFiles, playedOf } from './account-files.ts';
import { conversations } from './conversations.ts';
import { smallDisk } from './room.ts';
import { programUpgrade } from './upgrade.ts';
import { planted, scenariosOf } from './scenarios.ts';
import { faultsOf, lineOf, type Outcome, play, type Scenario, type StageOptions } from './stage.ts';

export type FaultsOptions = {
  readonly kills: number;
  /** the only scenario to run; default all */
  readonly only?: string;
  /** default random; printed with every line */
  readonly seed?: number;
  /** where to write the account; default nowhere */
  readonly account?: string;
};

const FAULTS_SHOWN = 20;
const CLIENTS = 16;
const PAUSE_MS_MAX = 400;

/** A scenario of either kind. */
type Part = Pick<Scenario, 'name' | 'diskMegabytes' | 'diskOf' | 'needs'> & {
  readonly what?: string;
  readonly play: (options: StageOptions) => Promise<Outcome>;
};

/** Returns the exit code: 1 when anything was lost, duplicated or wrong. */
export async function faults(options: FaultsOptions): Promise<number> {
  const { only, seed = Math.floor(Math.random() * 2 ** 31) } = options;
  const all = partsOf(options);
  const chosen =
    only === undefined ? all : [...all, ...planted.map(partOf)].filter(({ name }) => name === only);
  if (chosen.length === 0) {
    console.error(`there is no scenario ${only}: ${all.map(({ name }) => name).join(', ')}`);
    return 2;
  }
  const program = await buildWorker();
  const files = filesOf(options, seed);
  let wrong = 0;
  for (const part of chosen) wrong += await run(part, { seed, program, files });
  if (options.account !== undefined) console.log(`the account is written to ${options.account}`);
  rmSync(program.at(-1)!, { force: true });
  return wrong > 0 ? 1 : 0;
}

const partsOf = ({ kills }: FaultsOptions): readonly Part[] => [
  ...scenariosOf(kills).map(partOf),
  { name: 'conversations', play: (options) => conversations(Math.ceil(kills / 4), options) },
  { name: 'program-upgrade', play: programUpgrade },
];

function partOf(scenario: Scenario): Part {
  return { ...scenario, play: (options) => play(scenario, options) };
}

type RunOptions = {
  readonly seed: number;
  readonly program: readonly string[];
  readonly files: AccountFiles | undefined;
};

function filesOf({ account, kills, only }: FaultsOptions, seed: number): AccountFiles | undefined {
  if (account === undefined) return undefined;
  const chosen = only === undefined ? '' : ` --only ${only}`;
  const command = `npm run bench -- faults --kills ${kills}${chosen} --seed ${seed}`;
  const { version } = packageJson;
  const startedAt = new Date().toISOString();
  return accountFiles(account, { command, seed, startedAt, version });
}

/** Returns the number of problems. The output of the processes is kept if there are any. */
async function run(part: Part, { seed, program, files }: RunOptions): Promise<number> {
  const { name, what = '' } = part;
  const folder = mkdtempSync(join(tmpdir(), `troupe-faults-${name}-`));
  const { leftOut, undo } = prepared(part, folder);
  if (leftOut !== undefined) {
    console.log(`${name.padEnd(14)} left out: ${leftOut}`);
    files?.notPlayed({ name, what, leftOut });
    rmSync(folder, { recursive: true, force: true });
    return 0;
  }
  const begun = performance.now();
  const say = (line: string) =>
    console.error(`  … ${((performance.now() - begun) / 1_000).toFixed(1)} s ${line}`);
  const load = { clients: CLIENTS, pauseMsMax: PAUSE_MS_MAX };
  const found = await part
    .play({ seed, folder, program, ...load, say })
    .then(
      (outcome) => {
        files?.played(playedOf(outcome));
        return shown(outcome);
      },
      (error: Error) => {
        files?.notPlayed({ name, what, failed: String(error.stack) });
        console.log(`${name.padEnd(14)} was not played to its end, seed ${seed}\n${error.stack}`);
        return 1;
      },
    )
    .finally(undo);
  if (found > 0) console.log(`    what the processes said: ${folder}`);
  else rmSync(folder, { recursive: true, force: true });
  return found;
}

type Prepared = { readonly leftOut?: string; readonly undo: () => void };

/** Checks what the scenario needs, and mounts its disk. */
function prepared({ needs, diskMegabytes, diskOf = 'nats' }: Part, folder: string): Prepared {
  const undo = () => {};
  const leftOut = needs?.();
  if (leftOut !== undefined) return { leftOut, undo };
  if (diskMegabytes === undefined) return { undo };
  const unmount = smallDisk(join(folder, diskOf), diskMegabytes);
  return unmount
    ? { undo: unmount }
    : { leftOut: 'this user may not mount a disk in memory', undo };
}

function shown(outcome: Outcome): number {
  const found = faultsOf(outcome);
  console.log(lineOf(outcome));
  for (const fault of found.slice(0, FAULTS_SHOWN)) console.log(`    ${fault}`);
  if (found.length > FAULTS_SHOWN) console.log(`    and ${found.length - FAULTS_SHOWN} more`);
  return found.length;
}
