/**
 * `troupe bench peers`: troupe and other systems do the same work on this machine, one after the
 * other, each in a process of its own.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { cpus, release, tmpdir, totalmem, type } from 'node:os';
import { join, resolve } from 'node:path';
import { bullmq } from '../../../loadtest/peers/bullmq.ts';
import { dbos } from '../../../loadtest/peers/dbos.ts';
import { measurePeer, type PeerFigures } from '../../../loadtest/peers/measure.ts';
import { nats } from '../../../loadtest/peers/nats.ts';
import type { PeerDriver } from '../../../loadtest/peers/peer.ts';
import { restate } from '../../../loadtest/peers/restate.ts';
import { numberText } from '../../../loadtest/report/figures.ts';
import { table } from '../../../operations/text.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { exitCodes } from '../../exit.ts';
import { printJson } from '../../output.ts';
import { withProgress } from '../../progress.ts';
import { ownCounter } from './own-counter.ts';

export type PeersOptions = {
  readonly folder?: string;
  readonly only?: string;
  readonly seconds?: number;
  readonly json?: boolean;
};

type PeerResult = { readonly name: string; readonly guarantee: string } & (
  | { readonly figures: PeerFigures }
  /** what is not installed */
  | { readonly missing: string }
  /** why it could not be measured, although it is installed */
  | { readonly failed: string }
);

const drivers: readonly PeerDriver[] = [ownCounter, nats, bullmq, dbos, restate];
const SECONDS = 10;

/**
 * Exit code 1 when a system that is installed failed; the others are measured nevertheless.
 * @throws TroupeError NOT_FOUND for an unknown name
 */
export async function peers(options: PeersOptions): Promise<number> {
  const { only, json = false } = options;
  if (only !== undefined) return one(driverOf(only), options);
  const results: PeerResult[] = [];
  await withProgress(async ({ show }) => {
    for (const driver of drivers) {
      show(`measuring ${driver.name}`);
      results.push(await inOwnProcess(driver, options));
    }
  });
  if (json) printJson({ machine: machine(), at: new Date().toISOString(), results });
  else process.stdout.write(peersText(results));
  return exitCodeOf(results);
}

function driverOf(name: string): PeerDriver {
  const driver = drivers.find((each) => each.name === name);
  if (driver) return driver;
  const known = drivers.map((each) => each.name).join(', ');
  throw new TroupeError('NOT_FOUND', `unknown system ${name}; known: ${known}`);
}

/** Measures it in this process. */
async function one(driver: PeerDriver, options: PeersOptions): Promise<number> {
  const { folder = '.', seconds = SECONDS, json = false } = options;
  // Servers are killed when this process exits.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => process.exit(exitCodes.interrupted));
  const data = mkdtempSync(join(tmpdir(), 'troupe-peer-'));
  // A server may run as another user.
  chmodSync(data, 0o711);
  const { name, guarantee } = driver;
  let result: PeerResult;
  try {
    const peer = await driver.start({ folder: resolve(folder), data });
    try {
      result = { name, guarantee, figures: await measurePeer(peer, seconds) };
    } finally {
      await peer.stop();
    }
  } catch (error) {
    const isMissing = error instanceof TroupeError && error.code === 'NOT_FOUND';
    const message = error instanceof Error ? error.message : String(error);
    result = { name, guarantee, [isMissing ? 'missing' : 'failed']: message } as PeerResult;
  } finally {
    rmSync(data, { recursive: true, force: true, maxRetries: 3 });
  }
  if (json) printJson(result);
  else process.stdout.write(peersText([result]));
  return exitCodeOf([result]);
}

const exitCodeOf = (results: readonly PeerResult[]): number =>
  results.some((result) => 'failed' in result) ? exitCodes.failure : exitCodes.ok;

/** So that no heap, timer or compiled code of one system affects the next. */
async function inOwnProcess(driver: PeerDriver, options: PeersOptions): Promise<PeerResult> {
  const { name, guarantee } = driver;
  const { folder = '.', seconds = SECONDS } = options;
  const args = ['bench', 'peers', '--only', name, '--json', '--folder', folder];
  const child = spawn(process.execPath, [process.argv[1]!, ...args, '--seconds', String(seconds)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => (text += part));
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  return resultIn(text) ?? { name, guarantee, failed: `its process ended with ${signal ?? code}` };
}

/** Libraries may print lines before it. undefined: the process ended before its result. */
function resultIn(text: string): PeerResult | undefined {
  try {
    const result = JSON.parse(text.slice(text.search(/^\{$/m))) as PeerResult;
    return 'guarantee' in result ? result : undefined;
  } catch {
    return undefined;
  }
}

const micro = (value: number | undefined): string => (value === undefined ? '' : numberText(value));

function peersText(results: readonly PeerResult[]): string {
  const rows = results.map((result) => {
    if ('missing' in result) return [result.name, `not measured: ${result.missing}`];
    if ('failed' in result) return [result.name, `failed: ${result.failed}`];
    const { figures } = result;
    return [
      result.name,
      ...[figures.aloneP50Ms, figures.aloneP99Ms, figures.asksPerSecond].map(numberText),
      ...[figures.busyP50Ms, figures.busyP99Ms, figures.processUs].map(numberText),
      micro(figures.serverUs),
    ];
  });
  const head = ['', 'one: p50', 'p99', '64: asks/s', 'p50', 'p99', 'process µs', 'server µs'];
  const measured = rows.filter((row) => row.length > 2);
  const missing = rows.filter((row) => row.length === 2).map((row) => `${row.join(': ')}\n`);
  const guarantees = results.map(({ name, guarantee }) => `  ${name}: ${guarantee}\n`);
  return [
    measured.length === 0 ? '' : table(head, measured),
    'Times in ms. One: one ask at a time; 64: 64 at once. µs: processor time of an ask, of the Node process and of the server.\n',
    ...missing,
    `After a kill:\n${guarantees.join('')}`,
    `${machine()}\n`,
  ].join('');
}

const machine = (): string =>
  `${cpus()[0]?.model.trim() ?? 'unknown processor'}, ${cpus().length} cores, ${numberText(totalmem() / 2 ** 30)} GiB, ${type()} ${release()}, Node ${process.versions.node}`;
