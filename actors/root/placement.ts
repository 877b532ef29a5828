/**
 * Placement: the pure parts of the root's region `placement`: the workers of the cell, as reported
 * by themselves and by nodes that detect their loss. It is for display only: the journal decides
 * who owns a shard.
 */
import type { Project } from '../../protocols/statechart.ts';
import type { PlacementRow, WorkerRow } from '../../protocols/supervision.ts';
import { type Args, type ArgsOf, on, type RootContext } from './types.ts';

/** Workers kept; beyond it the one whose state is oldest is removed, lost workers first. */
export const WORKERS_MAX = 256;
/** How long the row of a lost worker stays visible. */
const LOST_KEEP_MS = 3_600_000;

/** An event of a worker's life. */
const WORKER = ['worker.joined', 'worker.draining', 'worker.left', 'worker.lost'] as const;
type OfWorker = ArgsOf<(typeof WORKER)[number]>;

const workerOf = ({ context, event }: OfWorker): WorkerRow | undefined =>
  context.workers.find(({ node }) => node === event.node);

/** Whether the event is not a repetition. */
export const isNewcomer = on(WORKER, (args): boolean => workerOf(args)?.state !== 'active');
/** Reports about an unknown process, or one that was replaced under the same name, are ignored. */
export const isKnownWorker = on(WORKER, (args): boolean => workerOf(args) !== undefined);
export const isActiveWorker = on(WORKER, (args): boolean => workerOf(args)?.state === 'active');
export const isServingWorker = on(WORKER, (args): boolean => serves(workerOf(args)));

const serves = (worker: WorkerRow | undefined): boolean =>
  worker !== undefined && worker.state !== 'lost';

const others = ({ context, event }: OfWorker): readonly WorkerRow[] =>
  context.workers.filter(({ name }) => name !== event.name);

const rowOf = ({ event }: OfWorker, state: WorkerRow['state']): WorkerRow => {
  const { name, node } = event;
  return { name, node, state, since: event.meta.now };
};

const note = (state: WorkerRow['state']) =>
  on(WORKER, (args): Partial<RootContext> => ({ workers: [...others(args), rowOf(args, state)] }));
export const noteActive = note('active');
export const noteDraining = note('draining');
export const noteLost = note('lost');

export const forget = on(WORKER, (args): Partial<RootContext> => ({ workers: others(args) }));

const workerRow = (state: WorkerRow['state']) =>
  on(
    WORKER,
    (args): Project => ({
      index: 'workers',
      key: args.event.name,
      value: rowOf(args, state),
      ...(state === 'lost' ? { keepMs: LOST_KEEP_MS } : {}),
    }),
  );
export const activeRow = workerRow('active');
export const drainingRow = workerRow('draining');
export const lostRow = workerRow('lost');

export const workerGone = on(
  WORKER,
  ({ event }): Project => ({
    index: 'workers',
    key: event.name,
    value: null,
  }),
);

export const placementRow = ({ context, event }: Args, status: PlacementRow['status']): Project => {
  const workers = context.workers.filter(serves).length;
  const value: PlacementRow = { status, since: event.meta.now, workers };
  return { index: 'cluster', key: 'placement', value };
};

export const noWorkerServes = ({ context }: Args): boolean => !context.workers.some(serves);

/** Removes rows of lost workers after a while. */
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
