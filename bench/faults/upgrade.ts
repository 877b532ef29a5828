/**
 * Rolling upgrades under load, with a second build that has a newer format of records: of a cell
 * whose messages are audited, and of the program, up to the end of the upgrade.
 */
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Cell, GATEWAY } from '../../loadtest/faults/cell.ts';
import { buildNext, NEXT_FORMAT, NEXT_VERSION } from '../../test/upgrade/next-build.ts';
import { buildWorker } from './bundle.ts';
import { observed } from './changes.ts';
import { type Act, underConversations } from './conversations.ts';
import type { Outcome, Stage, StageOptions } from './stage.ts';
import { until } from './until.ts';

const READY_MS = 60_000;
/** Conversations with a mixed cluster, between two replacements. */
const TALK_MS = 3_000;
const COMMAND_MS = 120_000;

/** Every worker is replaced by the next build, one is taken back and replaced again. */
export async function rollingUpgrade(stage: Stage): Promise<void> {
  const { cell, chronicle, say } = stage;
  const program = await buildWorker({ isNext: true });
  const replace = async (machine: string, isNext: boolean) => {
    const build = isNext ? 'the next build' : 'this build';
    const fault = chronicle.begin(`SIGTERM of ${machine}, and its start with ${build}`);
    await cell.signal(machine, 'SIGTERM');
    await cell.start(machine, isNext ? { program } : {});
    fault.ended();
    await cell.settled();
    say(`${machine} runs ${build}`);
  };
  const [first] = cell.machines;
  await observed(stage, async () => {
    for (const machine of cell.machines) await replace(machine, true);
    const newest = () => cell.gateway.nodes().filter(({ reads }) => reads === NEXT_FORMAT).length;
    await until('all workers read the new format', () => newest() === cell.machines.length);
    await replace(first!, false);
    await replace(first!, true);
  });
  rmSync(program.at(-1)!, { force: true });
}

/** The program: workers and gateway are replaced under conversations, and the upgrade finished. */
export async function programUpgrade(options: StageOptions): Promise<Outcome> {
  const next = await buildNext();
  const act: Act = async ({ cell, chronicle, say }) => {
    for (const name of [...cell.workers, GATEWAY]) {
      const fault = chronicle.begin(`SIGTERM of ${name}, and its start with the next build`);
      await cell.process(name).end('SIGTERM');
      await cell.start(name, next);
      await cell.ready();
      fault.ended();
      say(`${name} runs ${NEXT_VERSION}`);
      await sleep(TALK_MS);
    }
    const finished = () => upgradeFinished(next, cell);
    const fault = chronicle.begin(`the upgrade is finished: format ${NEXT_FORMAT}`);
    await until('the upgrade can be finished', finished, READY_MS);
    fault.ended();
  };
  const what = `workers and gateway of the program are replaced by another build, in conversations`;
  try {
    return await underConversations({ name: 'program-upgrade', what }, options, act);
  } finally {
    rmSync(dirname(next), { recursive: true, force: true });
  }
}

const run = promisify(execFile);

async function upgradeFinished(
  build: string,
  { natsUrl, url, environment: env }: Cell,
): Promise<boolean> {
  const args = [build, 'upgrade', 'finish', '--nats', natsUrl, '--url', url, '--json'];
  return run(process.execPath, args, { env, timeout: COMMAND_MS }).then(
    ({ stdout }) =>
      (JSON.parse(stdout) as { cell: { format: number } }).cell.format === NEXT_FORMAT,
    () => false,
  );
}
