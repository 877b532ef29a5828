/** Golden replays: recorded turns of actors, taken again with another version of their charts. */
import type { ActorRecording } from '../../protocols/actor-view.ts';
import { isAddress } from '../../protocols/address.ts';
import { TroupeError } from '../../protocols/errors.ts';
import type { ActorDefinition } from '../../runtime/actor/definition.ts';
import { type FullTurn, unpackFullTurns } from '../../runtime/history/full-turns.ts';
import { replay, type Replayed } from '../../runtime/history/replay.ts';

export type GoldenReplay = {
  /** true when all turns of all recordings are equal */
  readonly ok: boolean;
  /** in the order of the recordings */
  readonly results: readonly Replayed[];
  /** @throws Error that names the first turn of each recording that differs */
  throwIfDifferent(): void;
};

/**
 * Takes the recorded turns of actors again, with these definitions. Nothing is sent and no effect
 * runs: outcomes come from the recordings. A newer version needs its `migrate`.
 *
 * @param recordings as `GET /v1/actors/{actor}/recording` and `System.actors.recording` return
 *   them, or as a replay file of a simulation has them
 * @throws TroupeError NOT_FOUND when a recorded type is not among the definitions; INVALID_ARGUMENT
 *   for what is no recording
 * @example
 * ```ts
 * import { defineActor } from 'troupe';
 * import { replayRecordings, simulate } from 'troupe/test';
 * import { address } from 'troupe';
 * import { setup } from 'xstate';
 *
 * const lamp = (next: 'on' | 'broken') =>
 *   defineActor({
 *     type: 'lamp',
 *     version: 1,
 *     machine: setup({ types: { events: {} as { type: 'lamp.switch' } } }).createMachine({
 *       initial: 'off',
 *       states: { off: { on: { 'lamp.switch': next } }, on: {}, broken: {} },
 *     }),
 *   });
 * const hall = address('default', 'lamp', 'hall');
 * const simulation = await simulate({ actors: [lamp('on')] });
 * await simulation.tell(hall, { type: 'lamp.switch' });
 * const recording = await simulation.until(simulation.system.actors.recording(hall));
 * assert.equal(replayRecordings([recording], [lamp('on')]).ok, true);
 * assert.equal(replayRecordings([recording], [lamp('broken')]).ok, false);
 * await simulation.stop();
 * ```
 */
export function replayRecordings(
  recordings: readonly ActorRecording[],
  actors: readonly ActorDefinition[],
): GoldenReplay {
  if (!Array.isArray(recordings)) throw invalid('recordings', 'a list');
  const results = recordings.map((recording: ActorRecording, n) => {
    const turns = turnsIn(recording, `recording ${n + 1}`);
    const { supervisor, cell, shard, shards } = recording;
    const by = supervisor !== undefined && isAddress(supervisor) ? { supervisor } : {};
    return replay(turns, actors, { cell, shard, shards, ...by });
  });
  const different = results.flatMap((result, n) =>
    result.kind === 'equal' ? [] : [`recording ${n + 1}: ${textOf(result)}`],
  );
  return {
    ok: different.length === 0,
    results,
    throwIfDifferent() {
      if (different.length > 0) throw new Error(different.join('\n'));
    },
  };
}

/** Of a program in JavaScript, or of a file that was not read whole. */
function turnsIn(recording: ActorRecording, name: string): FullTurn[] {
  const { bytes, cell, shard, shards } = (recording ?? {}) as Partial<ActorRecording>;
  if (typeof bytes !== 'string' || typeof cell !== 'string')
    throw invalid(name, 'an object with the texts cell and bytes');
  if (!Number.isInteger(shard) || !Number.isInteger(shards))
    throw invalid(name, 'an object with the numbers shard and shards');
  try {
    return unpackFullTurns(Buffer.from(bytes, 'base64'));
  } catch (cause) {
    throw invalid(`the field bytes of ${name}`, 'base64 of recorded turns', cause);
  }
}

const invalid = (what: string, wanted: string, cause?: unknown): TroupeError =>
  new TroupeError(
    'INVALID_ARGUMENT',
    `replayRecordings: ${what} is not ${wanted}: pass what System.actors.recording returns, or the recordings of a replay file`,
    { cause },
  );

const textOf = ({ turn, recorded, replayed }: Replayed & { kind: 'differs' }): string =>
  `turn ${turn} differs\n  recorded  ${JSON.stringify(recorded)}\n  replayed  ${JSON.stringify(replayed)}`;
