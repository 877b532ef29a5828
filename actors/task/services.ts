/** What the effects of tasks need of the application. */
import type { Envelope } from '../../protocols/envelope.ts';
import type { OpenResult, SealedResult } from '../../protocols/security/sealed-result.ts';
import type { Artifacts } from '../../runtime/index.ts';
import type { ActionCatalog } from './catalog.ts';
import type { RemoteAgent } from './types.ts';

export type TaskServices = {
  readonly actions: ActionCatalog;
  readonly artifacts: Artifacts;
  /** region of the stored files, such as `asia-southeast1`; absent: unknown */
  readonly artifactsLocality?: string | undefined;
  /**
   * Opens a sealed payload. @throws TroupeError FORBIDDEN when it is sealed to another key
   */
  readonly open: (envelope: Envelope) => Promise<Envelope>;
  /** Seals what the work of a sensitive envelope returned, to be stored. */
  readonly seal: (value: OpenResult, belongsTo: Envelope) => Promise<SealedResult>;
  /** Sends work to an external agent and waits for the end of its task. */
  readonly askAgent: (
    agent: RemoteAgent,
    envelope: Envelope,
    signal: AbortSignal,
  ) => Promise<{ readonly result: unknown; readonly resource_links?: readonly unknown[] }>;
  /** counts for metrics; repeated events may be counted again */
  readonly count: (what: 'retry', labels: TaskLabels) => void;
};

export type TaskLabels = {
  readonly action: string;
  readonly tenant: string;
  readonly principal: string;
  readonly errorCode: string;
};
