/**
 * `troupe bench run`: loads an installation and prints the report. The first SIGINT or SIGTERM ends
 * the test, prints what was measured, and stops what was started; the second one exits at once.
 */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { type ModelServer, startModelServer } from '../../loadtest/model-server/server.ts';
import { scriptOf, scriptTextOf } from '../../loadtest/model-server/script.ts';
import type { LoadReport } from '../../loadtest/report.ts';
import { type LoadPlan, runLoadTest } from '../../loadtest/run.ts';
import type { Send } from '../../loadtest/step.ts';
import { WORKLOADS } from '../../loadtest/workloads/index.ts';
import type { OpenWorkload } from '../../loadtest/workloads/workload.ts';
import { exitCodes } from '../exit.ts';
import { printJson } from '../output.ts';
import { untilSignal } from '../processes/signals.ts';
import { commandLine } from './command-line.ts';
import { liveProgress } from './live-progress.ts';
import { type LoadTarget, openLoadTarget } from './load-target.ts';
import { modelSettings } from './model.ts';
import { reportText } from './report-text.ts';
import { assertWritable, contentsOf, planOf, type RunOptions } from './run-options.ts';

const HANGUP_EXIT = 129;
const note = (line: string) => void process.stderr.write(`troupe: ${line}\n`);

/**
 * @returns exit code 0; 1 when an objective was missed; 130 after a signal
 * @throws TroupeError for wrong options, an unreachable target, or a first request that fails
 */
export async function run(options: RunOptions): Promise<number> {
  const plan = planOf(options);
  const script = options.model === undefined ? undefined : scriptOf(scriptTextOf(options.model));
  assertWritable({ json: options.json, html: options.html });
  const signal = untilSignal();
  // Exits, so that the own installation is killed.
  process.once('SIGHUP', () => process.exit(HANGUP_EXIT));
  const parts = new Closing();
  try {
    const model = script && parts.add(await startModelServer({ script, seed: plan.seed, port: 0 }));
    const settings = model ? modelSettings(model.baseUrl) : {};
    const names = Object.keys(plan.mix);
    const loaded = parts.add(await openLoadTarget(options, names, settings, note, signal));
    const report = await loadedReport(options, plan, loaded, model, parts, signal);
    await writeOut(report, options);
    return exitCodeOf(report);
  } catch (error) {
    if (!signal.aborted) throw error;
    note('stopped before the measurement began: there is no report');
    return exitCodes.interrupted;
  } finally {
    await parts.close();
  }
}

async function loadedReport(
  options: RunOptions,
  plan: LoadPlan,
  { target, about, isShared }: LoadTarget,
  model: ModelServer | undefined,
  parts: Closing,
  signal: AbortSignal,
): Promise<LoadReport> {
  const testId = randomBytes(4).toString('hex');
  const contents = contentsOf(options, testId, target.bearer !== undefined);
  const names = Object.keys(plan.mix);
  const workloads = new Map<string, Send>();
  for (const name of names) {
    const { send, close }: OpenWorkload = WORKLOADS[name]!.open(target, contents);
    // An own installation is removed as a whole.
    if (close && about.kind !== 'own') parts.add({ close });
    workloads.set(name, send);
  }
  return runLoadTest({
    plan,
    target,
    workloads,
    modelWorkloads: new Set(names.filter((name) => WORKLOADS[name]!.usesModel)),
    about,
    isShared,
    command: commandLine(process.argv.slice(2)),
    ...(options.label !== undefined && { label: options.label }),
    ...(model && { model: { text: options.model!, meanMs: model.meanMs } }),
    signal,
    show: liveProgress(),
  });
}

async function writeOut(report: LoadReport, { json, html }: RunOptions): Promise<void> {
  if (typeof json === 'string') writeFileSync(json, `${JSON.stringify(report)}\n`);
  if (html !== undefined) {
    const { reportPage } = await import('../../loadtest/report/html.ts');
    writeFileSync(html, reportPage(report));
  }
  if (json === true) return printJson(report);
  process.stdout.write(`\n${reportText(report, process.stdout)}`);
  for (const file of [json, html]) if (file !== undefined) process.stdout.write(`\n${file}`);
  if (json !== undefined || html !== undefined) process.stdout.write('\n');
}

/** A ramp is meant to miss its objectives at some rate: it fails when its first step does. */
function exitCodeOf({ interrupted, steps, plan, sustainedPerSecond }: LoadReport): number {
  if (interrupted) return exitCodes.interrupted;
  if (steps.length > 1) return sustainedPerSecond === undefined ? exitCodes.failure : exitCodes.ok;
  const isMissed = plan.objectives.length > 0 && steps.some(({ missed }) => missed.length > 0);
  return isMissed ? exitCodes.failure : exitCodes.ok;
}

type Closable = { readonly close: () => Promise<void> };

/** Closes in reverse order what was opened. */
class Closing {
  readonly #parts: Closable[] = [];

  add<T extends Closable>(part: T): T {
    this.#parts.push(part);
    return part;
  }

  async close(): Promise<void> {
    for (const part of this.#parts.splice(0).toReversed()) await part.close();
  }
}
