/**
 * `npm run bench -- scale`: the same saturating load on 1 to N workers, each in a cell of its own.
 * On one machine all workers, nats-server and the client share its cores, so the rate stops at the
 * cores. What a further worker costs shows in the processor time of a message, and efficiency is
 * calculated from that.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { hops } from './cluster.ts';
import { startServer } from './harness/cell.ts';
import { loadNow, machineFacts } from './harness/computer.ts';
import { rawRates } from './harness/raw-nats.ts';
import { amount } from './harness/report.ts';
import { repeatOf, type Scale } from './harness/scenario.ts';

export type ScaleOptions = {
  readonly workersMax: number;
  readonly scale: Scale;
  /** where to write the points; default nowhere */
  readonly json?: string;
};

/** Figures of one number of workers; processor times are of one message, microseconds. */
export type ScalePoint = {
  readonly workers: number;
  readonly perSecond: number;
  readonly workersUs: number;
  readonly serverUs: number;
  readonly gatewayUs: number;
};

export type ScaleRow = ScalePoint & {
  /** rate by the rate of one worker and the number of workers */
  readonly byRate: number;
  /** processor time of a message with one worker, by that with these: 1 is linear growth */
  readonly byProcessor: number;
  /** what the cores of this machine allow at this processor time, per second */
  readonly coresPerSecond: number;
};

/** Hops of the raw messages beside it: 256 bytes, as in `cluster`. */
const RAW_BYTES = 256;

export async function scale({ workersMax, scale: size, json }: ScaleOptions): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-scale-'));
  try {
    const load = await loadNow();
    const server = await startServer(join(folder, 'raw'));
    const { pick } = repeatOf(size, folder);
    const raw = await rawRates(server.url, pick(40_000, 20_000, 640), RAW_BYTES);
    await server.stop();
    const points: ScalePoint[] = [];
    for (let workers = 1; workers <= workersMax; workers++) {
      console.error(`  … ${workers} of ${workersMax} workers`);
      const { perSecond, workersUs, serverUs, gatewayUs } = await hops(
        repeatOf(size, folder),
        workers,
      );
      points.push({ workers, perSecond, workersUs, serverUs, gatewayUs });
    }
    const cores = availableParallelism();
    const rows = scaleRows(points, cores);
    const busy = Math.round(load.busy * 100);
    const { publishPerSecond } = raw;
    console.log(scaleText(rows, { cores, cpu: machineFacts().cpu, busy, publishPerSecond }));
    if (json !== undefined) {
      const results = { format: 1, machine: machineFacts(), load, raw, rows };
      writeFileSync(json, `${JSON.stringify(results, null, 1)}\n`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const processorUs = ({ workersUs, serverUs, gatewayUs }: ScalePoint): number =>
  workersUs + serverUs + gatewayUs;

/** @param points the first is of one worker */
export function scaleRows(points: readonly ScalePoint[], cores: number): ScaleRow[] {
  const [one] = points;
  if (!one) return [];
  return points.map((point) => ({
    ...point,
    byRate: point.perSecond / (one.perSecond * point.workers),
    byProcessor: processorUs(one) / processorUs(point),
    coresPerSecond: (cores * 1e6) / processorUs(point),
  }));
}

type Surroundings = {
  readonly cores: number;
  readonly cpu: string;
  /** percent of the machine that other processes used before */
  readonly busy: number;
  readonly publishPerSecond: number;
};

export function scaleText(rows: readonly ScaleRow[], around: Surroundings): string {
  const { cores, cpu, busy, publishPerSecond } = around;
  const percent = (share: number) => `${Math.round(share * 100)} %`;
  const us = (value: number) => value.toFixed(0);
  const table = [
    ['workers', 'messages', 'of cores', 'by rate', 'by processor', 'worker', 'nats', 'gateway, µs'],
    ...rows.map((row) => [
      String(row.workers),
      amount(row.perSecond, '1/s'),
      percent(row.perSecond / row.coresPerSecond),
      percent(row.byRate),
      percent(row.byProcessor),
      us(row.workersUs),
      us(row.serverUs),
      us(row.gatewayUs),
    ]),
  ];
  const widths = table[0]!.map((_, at) => Math.max(...table.map((line) => line[at]!.length)));
  const lines = table.map((line) => line.map((cell, at) => cell.padStart(widths[at]!)).join('  '));
  return [
    `scale: durable messages from actor to actor, ${cores} × ${cpu}, ${busy} % busy before`,
    ...lines,
    `limit of NATS in this run: ${amount(publishPerSecond, '1/s')} raw publishes with deduplication`,
    'of cores: the rate as a share of what all cores allow at this processor time per message',
    'by rate: rate divided by that of one worker and the number of workers',
    'by processor: processor time of a message with one worker divided by that with these',
    `All processes share ${cores} cores, so the efficiency by rate shows the cores, not the runtime.`,
    'With a core for each process the efficiency by processor time remains.',
  ].join('\n');
}
