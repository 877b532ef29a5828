/** What a run caused, as data and as a diagram, for programs that embed troupe. */
import { DEFAULT_TENANT } from '../protocols/address.ts';
import type { RunTrace } from '../protocols/run-trace.ts';
import type { System } from '../runtime/index.ts';

export type DrawnTrace = {
  readonly trace: RunTrace;
  /** a Mermaid sequence diagram */
  readonly picture: string;
};

/**
 * Draws what a run caused, across sessions and agents.
 *
 * @throws TroupeError NOT_FOUND when the run does not exist, or no longer exists
 * @example
 * ```ts
 * import { drawTrace, startTroupe } from 'troupe/agents';
 *
 * const troupe = await startTroupe({ data: 'traced', port: 0, settings: { log: { level: 'warn' } }
 * }); await assert.rejects(drawTrace(troupe.system, 'no-such-run'), { code: 'NOT_FOUND' });
 * await troupe.stop();
 * ```
 */
export async function drawTrace(
  system: Pick<System, 'index' | 'transcripts' | 'actors'>,
  runId: string,
): Promise<DrawnTrace> {
  const [{ traceReader }, { traceOf }, { mermaidOf }] = await Promise.all([
    import('../operations/run-trace/reader.ts'),
    import('../operations/run-trace/trace-of.ts'),
    import('../operations/run-trace/mermaid.ts'),
  ]);
  const trace = await traceOf(traceReader(system, DEFAULT_TENANT), runId);
  return { trace, picture: mermaidOf(trace) };
}
