/** The kinds of work of `troupe bench peers`: what each system does, and the table of figures. */
import { bullmq } from '../../../loadtest/peers/bullmq.ts';
import { dbos } from '../../../loadtest/peers/dbos.ts';
import { measurePeer, type PeerFigures } from '../../../loadtest/peers/measure.ts';
import { measureRuns, type RunFigures } from '../../../loadtest/peers/measure-runs.ts';
import { nats } from '../../../loadtest/peers/nats.ts';
import { openclaw } from '../../../loadtest/peers/openclaw.ts';
import type { PeerDriver, PeerPlace } from '../../../loadtest/peers/peer.ts';
import { restate } from '../../../loadtest/peers/restate.ts';
import type { RunPeerDriver } from '../../../loadtest/peers/run-peer.ts';
import { scriptOf } from '../../../loadtest/model-server/script.ts';
import { startModelServer } from '../../../loadtest/model-server/server.ts';
import { numberText } from '../../../loadtest/report/figures.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import { ownCounter } from './own-counter.ts';
import { ownRuns } from './own-runs.ts';

/** How much of it. */
export type Amount = {
  /** of each of the two measurements of asks; default 10 */
  readonly seconds?: number;
  /** of each session; default 25 */
  readonly runs?: number;
};

export type System<Figures> = {
  readonly name: string;
  /** what happens to its work after a kill */
  readonly guarantee: string;
  /** @throws TroupeError NOT_FOUND when a package or a program is missing */
  readonly measure: (place: PeerPlace, amount: Amount) => Promise<Figures>;
};

export type Work<Figures> = {
  readonly systems: readonly System<Figures>[];
  readonly head: readonly string[];
  readonly row: (figures: Figures) => readonly string[];
  /** what the columns are */
  readonly legend: string;
};

const SECONDS = 10;
const RUNS = 25;

const asking = (driver: PeerDriver): System<PeerFigures> => ({
  name: driver.name,
  guarantee: driver.guarantee,
  async measure(place, { seconds = SECONDS }) {
    const peer = await driver.start(place);
    try {
      return await measurePeer(peer, seconds);
    } finally {
      await peer.stop();
    }
  },
});

const running = (driver: RunPeerDriver): System<RunFigures> => ({
  name: driver.name,
  guarantee: driver.guarantee,
  async measure(place, { runs = RUNS }) {
    const model = await startModelServer({ script: scriptOf({}), seed: 1, port: 0 });
    try {
      const peer = await driver.start({ ...place, modelUrl: model.baseUrl });
      try {
        return await measureRuns(peer, runs, () => model.counts()['ok'] ?? 0);
      } finally {
        await peer.stop();
      }
    } finally {
      await model.close();
    }
  },
});

const known = (value: number | undefined): string => (value === undefined ? '' : numberText(value));

const asks: Work<PeerFigures> = {
  systems: [ownCounter, nats, bullmq, dbos, restate].map(asking),
  head: ['one: p50', 'p99', '64: asks/s', 'p50', 'p99', 'process µs', 'server µs'],
  row: (figures) => [
    ...[figures.aloneP50Ms, figures.aloneP99Ms, figures.asksPerSecond].map(numberText),
    ...[figures.busyP50Ms, figures.busyP99Ms, figures.processUs].map(numberText),
    known(figures.serverUs),
  ],
  legend:
    'Times in ms. One: one ask at a time; 64: 64 at once. µs: processor time of an ask, of the Node process and of the server.',
};

const runs: Work<RunFigures> = {
  systems: [ownRuns, openclaw].map(running),
  head: ['one: p50', 'p99', '8: runs/s', 'p50', 'p99', 'processor ms', 'MB', 'model calls'],
  row: (figures) => [
    ...[figures.aloneP50Ms, figures.aloneP99Ms, figures.runsPerSecond].map(numberText),
    ...[figures.busyP50Ms, figures.busyP99Ms].map(numberText),
    known(figures.processMs),
    known(figures.memoryBytes && figures.memoryBytes / 1e6),
    numberText(figures.modelCalls),
  ],
  legend:
    'Times in ms, from the request to the final response. One: one session; 8: 8 sessions at once. Processor time and model calls of a run, and the most resident memory, of the gateway.',
};

/** @throws TroupeError INVALID_ARGUMENT */
export function workOf(name = 'asks'): Work<PeerFigures> | Work<RunFigures> {
  if (name === 'asks') return asks;
  if (name === 'runs') return runs;
  throw new TroupeError('INVALID_ARGUMENT', `--work ${name}: known are asks and runs`);
}
