/** The limits of this machine: the parts of a turn by themselves, without the runtime. */
import { rawAppend, rawCommit, rawCosts, rawFsyncMs, turnUs } from './harness/raw.ts';
import { defineScenario } from './harness/scenario.ts';

export const limits = defineScenario({
  name: 'limits',
  question: 'what can the parts of a turn do by themselves on this machine?',
  secondsMax: 60,
  figures: {
    decodesPerSecond: { label: 'codec: mailbox entries decoded', unit: '1/s' },
    encodesPerSecond: { label: 'codec: snapshots persisted and encoded', unit: '1/s' },
    transitionsPerSecond: { label: 'XState: transitions, bare', unit: '1/s' },
    publicTransitionsPerSecond: {
      label: 'XState: transitions, public transition()',
      unit: '1/s',
      limit: 'transitionsPerSecond',
    },
    putsPerSecond: { label: 'LMDB: puts in batches', unit: '1/s' },
    appendMs: { label: 'disk: append of one frame, p50', unit: 'ms' },
    commitMs: { label: 'LMDB: transaction of one put, p50', unit: 'ms' },
    fsyncMs: { label: 'disk: fsync of 4 KiB, p50', unit: 'ms' },
    turnsPerSecond: { label: 'turns, if they cost nothing but that', unit: '1/s' },
  },
  async measure({ folder, pick }) {
    const costs = await rawCosts(folder, { milliseconds: pick(1_000, 200, 5) });
    const commit = await rawCommit(folder, pick(2_000, 500, 20));
    const append = await rawAppend(folder, pick(2_000, 500, 20));
    return {
      decodesPerSecond: 1e6 / costs.decodeUs,
      encodesPerSecond: 1e6 / costs.encodeUs,
      transitionsPerSecond: 1e6 / costs.transitionUs,
      publicTransitionsPerSecond: 1e6 / costs.publicTransitionUs,
      putsPerSecond: 1e6 / costs.putUs,
      appendMs: append.p50,
      commitMs: commit.p50,
      fsyncMs: rawFsyncMs(folder, pick(200, 50, 3)),
      turnsPerSecond: 1e6 / turnUs(costs),
    };
  },
});
