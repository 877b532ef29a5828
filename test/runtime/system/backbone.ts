/**
 * The backbone on which the systems of a test file run: embedded, unless the file selects another
 * one before it loads its suites (`test/cluster/`).
 */
import type { Ports, System, SystemOptions } from '../../../runtime/index.ts';
import type { Log } from '../../../runtime/log/log.ts';

export type RunOptions = Omit<SystemOptions, keyof Ports> & {
  /** wraps the log of the processes of the world; default: unchanged */
  readonly aroundLog?: (log: Log) => Log;
};

export type Running = {
  /** the system that a test uses */
  readonly system: System;
  /** Ends all processes of the world in order. */
  stop(): Promise<void>;
};

export type Backbone = {
  /** Starts the world whose data is in the folder `path`, which outlives it. */
  start(path: string, options: RunOptions): Promise<Running>;
  /** URL of the NATS server that a separate process should use; undefined: embedded */
  readonly url?: string;
};

let chosen: Backbone | undefined;

/** For all tests of this file that are defined after this call. */
export const chooseBackbone = (backbone: Backbone): void => {
  chosen = backbone;
};

/** undefined: embedded */
export const chosenBackbone = (): Backbone | undefined => chosen;
