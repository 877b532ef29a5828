/**
 * The environment of a figure: processor, memory, Node, and other load of the machine. Read from
 * /proc, hence only on Linux; elsewhere unknown values are left out.
 */
import { readFileSync, statfsSync } from 'node:fs';
import { cpus, loadavg, release, tmpdir, totalmem } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

export type MachineFacts = {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryMb: number;
  readonly node: string;
  readonly os: string;
  /** folder of the benchmarks' stores, and the kernel's number of its file system */
  readonly folder: string;
  readonly fileSystem: string;
};

/** The load of the machine before a scenario. */
export type Load = {
  /** processes that ran or waited, mean of the last minute */
  readonly average: number;
  /** share of all cores that other processes used just before, 0 to 1 */
  readonly busy: number;
};

export function machineFacts(): MachineFacts {
  const processors = cpus();
  return {
    cpu: processors[0]?.model ?? 'unknown',
    cores: processors.length,
    memoryMb: Math.round(totalmem() / 1e6),
    node: process.version,
    os: `${process.platform} ${release()}`,
    folder: tmpdir(),
    fileSystem:
      FILE_SYSTEMS[statfsSync(tmpdir()).type] ?? `0x${statfsSync(tmpdir()).type.toString(16)}`,
  };
}

/** statfs(2) returns numbers for them. */
const FILE_SYSTEMS: Readonly<Record<number, string>> = {
  0xef53: 'ext4',
  0x01021994: 'tmpfs',
  0x58465342: 'xfs',
  0x9123683e: 'btrfs',
  0x794c7630: 'overlayfs',
};

const BUSY_SAMPLE_MS = 300;

/** Observes the machine for a moment in which this process does nothing. */
export async function loadNow(): Promise<Load> {
  const before = processorTime();
  await sleep(BUSY_SAMPLE_MS);
  const after = processorTime();
  const total = after.total - before.total;
  const busy = total > 0 ? 1 - (after.idle - before.idle) / total : 0;
  return { average: loadavg()[0] ?? 0, busy };
}

function processorTime(): { idle: number; total: number } {
  let idle = 0;
  let total = 0;
  for (const { times } of cpus()) {
    idle += times.idle;
    total += times.idle + times.user + times.nice + times.sys + times.irq;
  }
  return { idle, total };
}

/**
 * A memory figure of a process in megabytes (10^6 bytes), from the kernel. `RssAnon` is private
 * memory without mapped files such as an LMDB map, `RssFile` those files, `VmRSS` is all resident
 * memory.
 */
export function memoryOf(pid: number | 'self', field: 'RssAnon' | 'RssFile' | 'VmRSS'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kibibytes = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
  if (kibibytes === undefined) throw new Error(`/proc/${pid}/status has no ${field}`);
  return (Number(kibibytes) * 1024) / 1e6;
}

/** The kernel counts processor time in hundredths of a second (USER_HZ). */
const TICK_MS = 10;

/**
 * Processor time that a process has used so far, milliseconds: of all its threads, and of the
 * thread that runs its JavaScript. Unlike wall time it excludes other processes.
 */
export function processorTimeOf(pid: number): { allMs: number; mainMs: number } {
  const ticks = (path: string) => {
    // The name in brackets may contain spaces; utime and stime are the 14th and 15th field.
    const fields = readFileSync(path, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  };
  return { allMs: ticks(`/proc/${pid}/stat`), mainMs: ticks(`/proc/${pid}/task/${pid}/stat`) };
}

/** Processor time of this process's JavaScript thread so far, microseconds. Exact, unlike ticks. */
export const ownThreadUs = (): number =>
  Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1_000;

/** Collects all garbage; the worker processes run with --expose-gc. */
export async function collectGarbage(): Promise<void> {
  if (!globalThis.gc) throw new Error('the worker was started without --expose-gc');
  // Twice, with a turn of the event loop between, because finalizers free more.
  for (let round = 0; round < 2; round++) {
    globalThis.gc();
    await sleep(50);
  }
}
