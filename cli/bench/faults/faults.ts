/**
 * `troupe bench faults`: starts a cell of its own, breaks it under load, and accounts for every
 * message. SIGINT or SIGTERM ends it and everything that it started; so does the guard when this
 * process is killed.
 */
import { cpus, release, tmpdir, totalmem } from 'node:os';
import {
  accountDocument,
  AccountFiles,
  type AccountHead,
  type AccountWords,
  type PlayedScenario,
} from '../../../loadtest/faults/document.ts';
import { type FaultOutcome, type FaultPlan, runFaults } from '../../../loadtest/faults/run.ts';
import { scriptOf, scriptTextOf } from '../../../loadtest/model-server/script.ts';
import { startModelServer } from '../../../loadtest/model-server/server.ts';
import { defined } from '../../../protocols/defined.ts';
import { exitCodes } from '../../exit.ts';
import { printJson } from '../../output.ts';
import { untilSignal } from '../../processes/signals.ts';
import { version } from '../../version.ts';
import { commandLine } from '../command-line.ts';
import { assertWritable } from '../run-options.ts';
import { whenFull } from '../temporary-folder.ts';
import {
  type FaultsOptions,
  MODEL,
  natsServerOf,
  otherProgramOf,
  planOf,
  workersOf,
} from './options.ts';
import { type OwnCell, type OwnCellOptions, startOwnCell } from './own-cell.ts';
import { faultsProgress } from './progress.ts';
import { faultsText } from './text.ts';

const HANGUP_EXIT = 129;

const note = (line: string) => void process.stderr.write(`troupe: ${line}\n`);

/**
 * @returns exit code 0; 1 with findings; 130 after a signal
 * @throws TroupeError for wrong options, when the cell does not start, or when its disk is full
 */
export async function faults(options: FaultsOptions): Promise<number> {
  const plan = planOf(options);
  const script = scriptOf(scriptTextOf(options.model ?? MODEL));
  const cluster = options.embedded
    ? undefined
    : { nats: natsServerOf(options), workers: workersOf(options) };
  const { upgradeTo } = options;
  const other = upgradeTo === undefined ? undefined : otherProgramOf(upgradeTo);
  assertWritable({ out: options.out });
  const signal = untilSignal();
  // Exits, so that the guard's processes are killed.
  process.once('SIGHUP', () => process.exit(HANGUP_EXIT));
  const head: AccountHead = {
    command: commandLine(process.argv.slice(2)),
    seed: plan.seed,
    startedAt: new Date().toISOString(),
    version,
    nats: cluster?.nats.version ?? 'none',
    machine: machine(),
  };
  const model = await startModelServer({ script, seed: plan.seed, port: 0 });
  try {
    const outcome = await brokenCell(plan, { model, ...defined({ cluster, other }) }, signal);
    const scenario = scenarioOf(outcome, cluster?.workers);
    if (options.out !== undefined) new AccountFiles(options.out, head, words).played(scenario);
    const { rows: _, ...account } = scenario;
    if (options.json) printJson(accountDocument(head, [account]));
    else process.stdout.write(faultsText(account, head.seed, options.out));
    return outcome.findings.length > 0 ? exitCodes.failure : exitCodes.ok;
  } catch (error) {
    if (!signal.aborted) throw error;
    note('stopped before the end: there is no account');
    return exitCodes.interrupted;
  } finally {
    await model.close();
  }
}

async function brokenCell(
  plan: FaultPlan,
  parts: Omit<OwnCellOptions, 'script' | 'onCrash'>,
  signal: AbortSignal,
): Promise<FaultOutcome> {
  const show = faultsProgress();
  const room = whenFull(tmpdir());
  const either = AbortSignal.any([signal, room.signal]);
  const crashes: string[] = [];
  let own: OwnCell | undefined;
  try {
    show.phase(`starting a cell for this test, seed ${plan.seed}`);
    const onCrash = (name: string, how: string) => void crashes.push(`${name}: ${how}`);
    const script = process.argv[1]!;
    own = await startOwnCell({ ...parts, script, onCrash }, either);
    const { cell, client, programs } = own;
    // the same sessions in the same shards
    const testId = plan.seed.toString(36);
    return await runFaults({ plan, cell, client, programs, testId, crashes, signal: either, show });
  } catch (error) {
    throw room.signal.aborted && !signal.aborted ? room.signal.reason : error;
  } finally {
    room.end();
    show.end();
    await own?.stop();
  }
}

function scenarioOf(outcome: FaultOutcome, workers: number | undefined): PlayedScenario {
  const { lines: turns, collected: _, ...rest } = outcome;
  const name = workers === undefined ? 'embedded' : 'cluster';
  const what =
    workers === undefined
      ? 'the program as one embedded process'
      : `${workers} workers, a gateway and nats-server`;
  return { ...rest, name, what, turns };
}

function machine(): AccountHead['machine'] {
  const processors = cpus();
  return {
    cpu: processors[0]?.model ?? 'unknown',
    cores: processors.length,
    memoryMb: Math.round(totalmem() / 1e6),
    node: process.version,
    os: `${process.platform} ${release()}`,
  };
}

const words: AccountWords = {
  affected: 'sessions',
  counted: 'lines',
  check: (name) => [
    `\`${name}.rows.jsonl\` has one line for each message and each envelope: when it was sent and accepted, how its`,
    'run or task ended, and how often the transcript has it and its answer.',
    '',
    '```',
    `grep -c '"kind":"run"' ${name}.rows.jsonl                        # messages that were sent`,
    `grep -c '"status":"ok","user":1,"assistant":1' ${name}.rows.jsonl # messages in a transcript once, with one answer`,
    `grep -c '"kind":"task"' ${name}.rows.jsonl                       # envelopes that were sent`,
    '```',
    '',
  ],
};
