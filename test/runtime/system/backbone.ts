/**
 * The backbone: on what the worlds of this file's tests run. Embedded, unless a test file chose
 * another before its suites were read (`test/cluster/`).
 */
import type { Ports, System, SystemOptions } from '../../../runtime/index.ts';
import type { Log } from '../../../runtime/log/log.ts';

export type RunOptions = Omit<SystemOptions, keyof Ports> & {
  /** the log as the processes of the world see it; default: as it is */
  readonly aroundLog?: (log: Log) => Log;
};

export type Running = {
  /** what a test talks to */
  readonly system: System;
  /** Ends all processes of the world in order. */
  stop(): Promise<void>;
};

export type Backbone = {
  /** Starts the world that is kept at `path`: a folder which outlives it. */
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
