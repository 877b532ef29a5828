/** What `charts.list` and `charts.show` answer. */
import type { Chart } from './chart.ts';
import type { Level } from './drawing.ts';

export type ChartSummary = {
  readonly type: string;
  readonly version: number;
  readonly states: number;
};

export type PublishedChart = {
  readonly type: string;
  readonly version: number;
  /** changes with the chart, also when its version does not */
  readonly hash: string;
  readonly chart: Chart;
  /** drawings by depth; [] where the chart cannot be laid out: show its states as an outline */
  readonly levels: readonly Level[];
  /** configuration for `createMachine` without functions; only when requested */
  readonly definition?: unknown;
};

/** The charts of the actor types that a process runs. */
export interface Charts {
  /** By type, then version. */
  list(): readonly ChartSummary[];
  /**
   * `version` defaults to the highest; undefined for an unknown one. A chart that does not ship
   * with troupe is laid out at its first request, in a thread.
   * @throws TroupeError UNAVAILABLE when the layout fails
   */
  get(
    type: string,
    options?: { readonly version?: number; readonly definition?: boolean },
  ): Promise<PublishedChart | undefined>;
}
