/** OwnerOptions: the environment, ports and bounds of a shard's owner. */
import type { Blobs } from '../blobs/blobs.ts';
import type { Clock } from '../clock/clock.ts';
import type { Log } from '../log/log.ts';
import type { LogTranscripts } from '../transcripts.ts';
import type { State } from '../state/state.ts';
import type { Outside } from './commit/after-commit.ts';
import type { WriteFormat } from './commit/record-format.ts';
import type { TurnWorld } from './turn/turn-context.ts';
import type { RetentionOptions } from './recovery/retention.ts';

export type OwnerOptions = {
  readonly world: TurnWorld;
  readonly env: string;
  /** name of this process, for EPOCH */
  readonly worker: string;
  readonly log: Log;
  readonly state: State;
  readonly blobs: Blobs;
  readonly clock: Clock;
  readonly outside: Outside;
  /** of journal records and of the messages that they send */
  readonly format: WriteFormat;
  /** the transcript readers of this process, which receive the entries that the shard stores */
  readonly transcripts?: Pick<LogTranscripts, 'writer' | 'passivate'>;
  /** called when the shard is lost or quarantined */
  readonly onEnd: (status: 'lost' | 'quarantined', why: string) => void;
  /** calls at the end of the turn of the event loop; default setImmediate */
  readonly atTurnEnd?: (call: () => void) => void;
  /** called after every committed record */
  readonly onCommitted?: () => void;
  /** interval at which an idle owner reads the journal (A7); default 1,000 */
  readonly idleProbeMs?: number;
} & Pick<RetentionOptions, 'history' | 'journalTail' | 'snapshotEvery' | 'snapshotBytes'>;
