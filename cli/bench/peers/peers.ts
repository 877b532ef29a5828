/**
 * `troupe bench peers`: troupe and other systems do the same work on this machine, one after the
 * other, each in a process of its own.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { cpus, release, tmpdir, totalmem, type } from 'node:os';
import { join, resolve } from 'node:path';
import { numberText } from '../../../loadtest/report/figures.ts';
import { table } from '../../../operations/text.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { exitCodes } from '../../exit.ts';
import { printJson } from '../../output.ts';
import { withProgress } from '../../progress.ts';
import { type Amount, type System, type Work, workOf } from './works.ts';

export type PeersOptions = Amount & {
  readonly folder?: string;
  readonly only?: string;
  /** default `asks` */
  readonly work?: string;
  readonly json?: boolean;
};

type PeerResult<Figures> = { readonly name: string; readonly guarantee: string } & (
  | { readonly figures: Figures }
  /** what is not installed */
  | { readonly missing: string }
  /** why it could not be measured, although it is installed */
  | { readonly failed: string }
);

/**
 * Exit code 1 when a system that is installed failed; the others are measured nevertheless.
 * @throws TroupeError NOT_FOUND for an unknown name; INVALID_ARGUMENT for an unknown work
 */
export function peers(options: PeersOptions): Promise<number> {
  return measured(workOf(options.work) as Work<unknown>, options);
}

async function measured<Figures>(work: Work<Figures>, options: PeersOptions): Promise<number> {
  const { only, json = false } = options;
  if (only !== undefined) return one(work, systemOf(work, only), options);
  const results: PeerResult<Figures>[] = [];
  await withProgress(async ({ show }) => {
    for (const system of work.systems) {
      show(`measuring ${system.name}`);
      results.push(await inOwnProcess(system, options));
    }
  });
  if (json) printJson({ machine: machine(), at: new Date().toISOString(), results });
  else process.stdout.write(peersText(work, results));
  return exitCodeOf(results);
}

function systemOf<Figures>({ systems }: Work<Figures>, name: string): System<Figures> {
  const system = systems.find((each) => each.name === name);
  if (system) return system;
  const known = systems.map((each) => each.name).join(', ');
  throw new TroupeError('NOT_FOUND', `unknown system ${name}; known: ${known}`);
}

/** Measures it in this process. */
async function one<Figures>(
  work: Work<Figures>,
  { name, guarantee, measure }: System<Figures>,
  { folder = '.', json = false, ...amount }: PeersOptions,
): Promise<number> {
  // Servers are killed when this process exits.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => process.exit(exitCodes.interrupted));
  const data = mkdtempSync(join(tmpdir(), 'troupe-peer-'));
  // A server may run as another user.
  chmodSync(data, 0o711);
  let result: PeerResult<Figures>;
  try {
    const figures = await measure({ folder: resolve(folder), data }, amount);
    result = { name, guarantee, figures };
  } catch (error) {
    const isMissing = error instanceof TroupeError && error.code === 'NOT_FOUND';
    const message = error instanceof Error ? error.message : String(error);
    result = isMissing
      ? { name, guarantee, missing: message }
      : { name, guarantee, failed: message };
  } finally {
    rmSync(data, { recursive: true, force: true, maxRetries: 3 });
  }
  if (json) printJson(result);
  else process.stdout.write(peersText(work, [result]));
  return exitCodeOf([result]);
}

const exitCodeOf = (results: readonly PeerResult<unknown>[]): number =>
  results.some((result) => 'failed' in result) ? exitCodes.failure : exitCodes.ok;

/** So that no heap, timer or compiled code of one system affects the next. */
async function inOwnProcess<Figures>(
  { name, guarantee }: System<Figures>,
  { folder = '.', work = 'asks', seconds, runs }: PeersOptions,
): Promise<PeerResult<Figures>> {
  const amount = [
    ...(seconds === undefined ? [] : ['--seconds', String(seconds)]),
    ...(runs === undefined ? [] : ['--runs', String(runs)]),
  ];
  const args = ['bench', 'peers', '--only', name, '--work', work, '--json', '--folder', folder];
  const child = spawn(process.execPath, [process.argv[1]!, ...args, ...amount], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => (text += part));
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  const failed = `its process ended with ${signal ?? code}`;
  return resultIn<Figures>(text) ?? { name, guarantee, failed };
}

/** Libraries may print lines before it. undefined: the process ended before its result. */
function resultIn<Figures>(text: string): PeerResult<Figures> | undefined {
  try {
    const result = JSON.parse(text.slice(text.search(/^\{$/m))) as PeerResult<Figures>;
    return 'guarantee' in result ? result : undefined;
  } catch {
    return undefined;
  }
}

function peersText<Figures>(
  { head, row, legend }: Work<Figures>,
  results: readonly PeerResult<Figures>[],
): string {
  const rows = results.flatMap((result) =>
    'figures' in result ? [[result.name, ...row(result.figures)]] : [],
  );
  const others = results.flatMap((result) => {
    if ('missing' in result) return [`${result.name}: not measured: ${result.missing}\n`];
    return 'failed' in result ? [`${result.name}: failed: ${result.failed}\n`] : [];
  });
  const guarantees = results.map(({ name, guarantee }) => `  ${name}: ${guarantee}\n`);
  return [
    rows.length === 0 ? '' : table(['', ...head], rows),
    `${legend}\n`,
    ...others,
    `After a kill:\n${guarantees.join('')}`,
    `${machine()}\n`,
  ].join('');
}

const machine = (): string =>
  `${cpus()[0]?.model.trim() ?? 'unknown processor'}, ${cpus().length} cores, ${numberText(totalmem() / 2 ** 30)} GiB, ${type()} ${release()}, Node ${process.versions.node}`;
