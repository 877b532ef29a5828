/** The lines of a soak: what memory and disk consist of, and what grew. */
import { percentile } from './statistics.ts';
import type { Stored, StoredKind } from './stored-kinds.ts';

const MIB = 2 ** 20;

/** Bytes, except `handles`. */
export type SoakSample = {
  /** private memory: everything but mapped files */
  readonly own: number;
  /** objects of JavaScript, with garbage */
  readonly heapUsed: number;
  /** what V8 holds for them */
  readonly heap: number;
  /** buffers outside of the heap, of which pages that were never used are in no other figure */
  readonly buffers: number;
  /** resident pages of files, such as Node itself and the store's data file */
  readonly mapped: number;
  readonly handles: number;
  readonly log: number;
  readonly data: number;
  readonly blobs: number;
};

export const SAMPLE_HEADER =
  '   min |    own = heap (used) + other | mapped | fds |    log    data  blobs |    runs  cut failed aborted sessions';

/** @param counts of runs, cut connections, failed tools, aborted runs, deleted sessions */
export function sampleLine(minutes: number, s: SoakSample, counts: readonly number[]): string {
  const own = `${mib(s.own, 6)} ${mib(s.heap, 6)} (${mib(s.heapUsed, 4)})  ${mib(s.own - s.heap, 7)}`;
  const disk = `${mib(s.log, 6)} ${mib(s.data, 7)} ${mib(s.blobs, 6)}`;
  const widths = [7, 4, 6, 7, 8];
  const numbers = counts.map((n, at) => String(n).padStart(widths[at] ?? 7)).join(' ');
  const minute = minutes.toFixed(1).padStart(6);
  return `${minute} | ${own} | ${mib(s.mapped, 6)} | ${String(s.handles).padStart(3)} | ${disk} | ${numbers}`;
}

const mib = (bytes: number, width: number): string => (bytes / MIB).toFixed(0).padStart(width);

/**
 * Compares the second with the last third: what of it should be flat. Of the heap the least figure,
 * because the others contain garbage; of the rest the median.
 */
export function growthLines(samples: readonly SoakSample[]): readonly string[] {
  const third = Math.floor(samples.length / 3);
  if (third === 0) return ['too short for a comparison'];
  const thirds = [samples.slice(third, 2 * third), samples.slice(2 * third)] as const;
  const line = (
    name: string,
    figure: (sample: SoakSample) => number,
    share: 0 | 0.5,
    unit: number,
  ) => {
    const of = (part: readonly SoakSample[]) => percentile(part.map(figure), share) / unit;
    const [before, after] = [of(thirds[0]), of(thirds[1])];
    const change = before === 0 ? '' : ` (${((after / before - 1) * 100).toFixed(1)} %)`;
    return `  ${name.padEnd(44)} ${before.toFixed(1)} -> ${after.toFixed(1)}${change}`;
  };
  return [
    'second third of the time -> last third (MiB):',
    line('objects in use, least', ({ heapUsed }) => heapUsed, 0, MIB),
    line('heap, median', ({ heap }) => heap, 0.5, MIB),
    line('other private memory, median', ({ own, heap }) => own - heap, 0.5, MIB),
    line('mapped files, median: grows with the data file', ({ mapped }) => mapped, 0.5, MIB),
    line('segments of the log, median', ({ log }) => log, 0.5, MIB),
    line('handles, median', ({ handles }) => handles, 0.5, 1),
  ];
}

/** A look at the store, and the number of runs until then. */
export type StoredAt = { readonly stored: Stored; readonly runs: number };

/** What the data file consists of, and what each run added between two looks. */
export function storedLines(first: StoredAt, last: StoredAt): readonly string[] {
  const runs = Math.max(1, last.runs - first.runs);
  const all = [...new Set([...first.stored.kinds.keys(), ...last.stored.kinds.keys()])];
  const bytesOf = ({ stored }: StoredAt, of: StoredKind) => stored.kinds.get(of)?.bytes ?? 0;
  const part = (kept: boolean) =>
    all
      .filter((of) => of.kept === kept)
      .map((of) => {
        const [before, after] = [bytesOf(first, of), bytesOf(last, of)];
        const each = ((after - before) / runs).toFixed(0);
        const rows = last.stored.kinds.get(of)?.rows ?? 0;
        return `  ${of.name.padEnd(36)} ${size(before)} -> ${size(after)}   ${each.padStart(6)} bytes a run   ${rows} rows`;
      });
  return [
    `rows of the data file after ${first.runs} and ${last.runs} runs (MiB)`,
    ' kept by design, until their retention ends:',
    ...part(true),
    ' to stay about the same:',
    ...part(false),
    `  ${'free pages, used again'.padEnd(36)} ${size(first.stored.freeBytes)} -> ${size(last.stored.freeBytes)}`,
  ];
}

const size = (bytes: number): string => (bytes / MIB).toFixed(1).padStart(7);
