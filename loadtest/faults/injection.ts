/** The faults: what each does to a cell, and what ends it. */
import { TroupeError } from '../../protocols/errors.ts';
import type { Random } from '../random.ts';
import { type Cell, GATEWAY, NATS } from './cell.ts';

export const FAULT_KINDS = [
  'kill',
  'freeze',
  'partition',
  'gateway-kill',
  'nats-restart',
  'upgrade',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** Those that an embedded cell can have. */
export const EMBEDDED_FAULTS: readonly FaultKind[] = ['kill', 'freeze', 'upgrade'];

/** A fault that has begun. */
export type Injected = {
  /** in a few words, with the process */
  readonly what: string;
  /** the process */
  readonly target: string;
  /** until `undo` is due */
  readonly lastsMs: number;
  /** Removes the cause. */
  readonly undo: () => Promise<void>;
};

/** A killed process is started again after this time, so that others may take over. */
const DOWN_MS = [0, 2_000] as const;
/** Longer than it takes until a silent worker counts as dead. */
const SILENT_MS = [2_000, 4_000] as const;

/** Draws the same numbers for each kind, so that the faults of a seed do not depend on times. */
export async function inject(kind: FaultKind, cell: Cell, random: Random): Promise<Injected> {
  const worker = random.pick(cell.workers);
  const [downMs, silentMs] = [random.between(...DOWN_MS), random.between(...SILENT_MS)];
  const isHalfOpen = random.next() < 0.5;
  switch (kind) {
    case 'kill':
      return killed(cell, worker, downMs);
    case 'gateway-kill':
      return killed(cell, GATEWAY, downMs);
    case 'nats-restart':
      return killed(cell, NATS, downMs);
    case 'freeze': {
      cell.process(worker).freeze();
      const what = `${worker} is frozen for ${seconds(silentMs)}`;
      const undo = () => Promise.resolve(cell.process(worker).thaw());
      return { what, target: worker, lastsMs: silentMs, undo };
    }
    case 'partition': {
      const restore = cell.partition(worker, isHalfOpen);
      const how = isHalfOpen ? 'its connections to NATS pass nothing' : 'it cannot reach NATS';
      const what = `partition of ${worker} for ${seconds(silentMs)}: ${how}`;
      const undo = () => Promise.resolve(restore());
      return { what, target: worker, lastsMs: silentMs, undo };
    }
    case 'upgrade': {
      const { name, script, what } = cell.nextReplacement();
      await cell.process(name).end('SIGTERM');
      return { what, target: name, lastsMs: 0, undo: () => cell.start(name, script) };
    }
  }
}

async function killed(cell: Cell, target: string, lastsMs: number): Promise<Injected> {
  await cell.process(target).end('SIGKILL');
  const what = `kill -9 of ${target}, started again after ${seconds(lastsMs)}`;
  return { what, target, lastsMs, undo: () => cell.start(target) };
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;

/**
 * Faults of `kill,freeze`; undefined: all that the cell can have.
 * @param hasOther whether there is another program for `upgrade`
 * @throws TroupeError INVALID_ARGUMENT
 */
export function faultKindsOf(
  text: string | undefined,
  form: Cell['form'],
  hasOther: boolean,
): readonly FaultKind[] {
  const possible = form === 'embedded' ? EMBEDDED_FAULTS : FAULT_KINDS;
  if (text === undefined) return possible.filter((kind) => kind !== 'upgrade' || hasOther);
  return text.split(',').map((part) => {
    const kind = FAULT_KINDS.find((known) => known === part.trim());
    if (kind === undefined)
      throw new TroupeError(
        'INVALID_ARGUMENT',
        `--faults: no fault ${JSON.stringify(part)}; there are ${FAULT_KINDS.join(', ')}`,
      );
    if (kind === 'upgrade' && !hasOther)
      throw new TroupeError(
        'INVALID_ARGUMENT',
        '--faults: upgrade needs another version of troupe: --upgrade-to PATH',
      );
    if (possible.includes(kind)) return kind;
    throw new TroupeError(
      'INVALID_ARGUMENT',
      `--faults: ${kind} needs a cluster; --embedded has ${EMBEDDED_FAULTS.join(', ')}`,
    );
  });
}
