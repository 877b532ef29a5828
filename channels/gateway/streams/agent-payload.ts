/** Payload of the event `agent`: one step of a run, numbered within it. */
import type { RunPosition } from './live-runs.ts';
import { agentOf } from '../../../operations/sessions/session-key.ts';

/** Increments the run's sequence number. `ts` is epoch milliseconds. */
export const agentPayload = (live: RunPosition, ts: number, stream: string, data: object) => ({
  runId: live.runId,
  seq: ++live.seq,
  stream,
  ts,
  data,
  sessionKey: live.sessionKey,
  agentId: agentOf(live.sessionKey),
});
