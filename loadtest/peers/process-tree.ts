/** A process and all that it started, as Linux's /proc shows them. */
import { readdirSync, readFileSync } from 'node:fs';

export type ProcessUse = {
  /** of the process, its children, and theirs; empty when it ended, or not on Linux */
  readonly ids: readonly number[];
  /** processor time, user and system, ticks of 10 ms */
  readonly ticks: number;
  /** most resident memory of each at any time, added, bytes */
  readonly peakBytes: number;
};

/** Linux counts 100 of them a second. */
export const US_PER_TICK = 1e6 / 100;

type Stat = { readonly id: number; readonly parent: number; readonly ticks: number };

export function processTree(pid: number): ProcessUse {
  const all = allProcesses();
  const found = all.filter(({ id }) => id === pid);
  for (const one of found) found.push(...all.filter(({ parent }) => parent === one.id));
  return {
    ids: found.map(({ id }) => id),
    ticks: found.reduce((sum, { ticks }) => sum + ticks, 0),
    peakBytes: found.reduce((sum, { id }) => sum + peakOf(id), 0),
  };
}

function allProcesses(): readonly Stat[] {
  try {
    const ids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    return ids.flatMap((id) => statOf(id) ?? []);
  } catch {
    return [];
  }
}

function statOf(id: string): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${id}/stat`, 'utf8');
    // After the name in brackets: state, parent, ...; user and system time are fields 14 and 15.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const ticks = Number(fields[11]) + Number(fields[12]);
    return { id: Number(id), parent: Number(fields[1]), ticks };
  } catch {
    return undefined;
  }
}

function peakOf(id: number): number {
  try {
    const text = readFileSync(`/proc/${id}/status`, 'utf8');
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) * 1_024;
  } catch {
    return 0;
  }
}
