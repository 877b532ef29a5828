/**
 * Placement: the pure parts of the root's region `placement`: which workers serve the cell, as they
 * and those that miss them have told. It only shows: who owns a shard is decided by its journal.
 */
import type { Project } from '../../protocols/statechart.ts';
import type { PlacementRow, WorkerRow } from '../../protocols/supervision.ts';
import type { RootContext, RootEvent } from './types.ts';

/** Workers remembered; past it the one that is longest in its state goes, lost ones first. */
export const WORKERS_MAX = 256;
/** How long the row of a lost worker stays to be seen. */
const LOST_KEEP_MS = 3_600_000;

type Args = { context: RootContext; event: RootEvent };
type Told = { readonly name: string; readonly node: string };

const toldOf = (event: RootEvent): Told => event as RootEvent & Told;

const heard = ({ context, event }: Args): WorkerRow | undefined =>
  context.workers.find(({ node }) => node === toldOf(event).node);

/** Unless it is a repetition. */
export const isNewcomer = (args: Args): boolean => heard(args)?.state !== 'active';
/** Of a process that was never told of, or was replaced by a new one of its name, comes no news. */
export const isKnownWorker = (args: Args): boolean => heard(args) !== undefined;
export const isActiveWorker = (args: Args): boolean => heard(args)?.state === 'active';
export const isServingWorker = (args: Args): boolean => serves(heard(args));

const serves = (worker: WorkerRow | undefined): boolean =>
  worker !== undefined && worker.state !== 'lost';

const others = ({ context, event }: Args): readonly WorkerRow[] =>
  context.workers.filter(({ name }) => name !== toldOf(event).name);

const rowOf = ({ event }: Args, state: WorkerRow['state']): WorkerRow => {
  const { name, node } = toldOf(event);
  return { name, node, state, since: event.meta.now };
};

export const note = (args: Args, state: WorkerRow['state']): Partial<RootContext> => ({
  workers: [...others(args), rowOf(args, state)],
});

export const forget = (args: Args): Partial<RootContext> => ({ workers: others(args) });

export const workerRow = (args: Args, state: WorkerRow['state']): Project => ({
  index: 'workers',
  key: toldOf(args.event).name,
  value: rowOf(args, state),
  ...(state === 'lost' ? { keepMs: LOST_KEEP_MS } : {}),
});

export const workerGone = ({ event }: Args): Project => ({
  index: 'workers',
  key: toldOf(event).name,
  value: null,
});

export const placementRow = ({ context, event }: Args, status: PlacementRow['status']): Project => {
  const workers = context.workers.filter(serves).length;
  const value: PlacementRow = { status, since: event.meta.now, workers };
  return { index: 'cluster', key: 'placement', value };
};

export const nobodyServes = ({ context }: Args): boolean => !context.workers.some(serves);

/** Lost ones have been seen; their rows stay for a while. */
export const forgetLost = ({ context }: Args): Partial<RootContext> => ({
  workers: context.workers.filter(serves),
});

export const hasTooManyWorkers = ({ context }: Args): boolean =>
  context.workers.length > WORKERS_MAX;

const superfluous = (context: RootContext): WorkerRow =>
  context.workers.find((worker) => !serves(worker)) ?? context.workers[0]!;

export const superfluousGone = ({ context }: Args): Project => ({
  index: 'workers',
  key: superfluous(context).name,
  value: null,
});

export const forgetSuperfluous = ({ context }: Args): Partial<RootContext> => ({
  workers: context.workers.filter((worker) => worker !== superfluous(context)),
});
