/**
 * `troupe memory index --batch` and `troupe memory cancel`: a batch of vectors. It lives in a
 * gateway's installation, which must run; the other commands for notes need none.
 */
import type { Static, TSchema } from '@sinclair/typebox';
import { connectionFailure } from '../../client/gateway-errors.ts';
import type { Operation } from '../../operations/operation.ts';
import { cancelBatch, showBatch, startBatch } from '../../operations/memory.ts';
import { ago, isoTime } from '../../operations/text.ts';
import type { EmbeddingBatchRow } from '../../protocols/embedding-batch.ts';
import { TroupeError } from '../../protocols/errors.ts';
import { defaultAgent } from '../../runtime/config/index.ts';
import type { AgentWorkspaceOptions } from '../agents/agent-workspace.ts';
import { gatewayHttp } from '../client/gateway-http.ts';
import { exitCodes } from '../exit.ts';
import { loadForTenant } from '../options.ts';
import { printJson } from '../output.ts';
import { callOperation } from '../run-operation.ts';

/** Starts one. @throws TroupeError of the operation; UNAVAILABLE when no gateway responds */
export const memoryBatch = (options: AgentWorkspaceOptions): Promise<number> =>
  changed(startBatch, options);

/** @throws as `memoryBatch` */
export const memoryCancel = (options: AgentWorkspaceOptions): Promise<number> =>
  changed(cancelBatch, options);

/** The latest one of an agent. @throws TroupeError UNAVAILABLE when no gateway responds */
export const latestBatch = async (
  options: AgentWorkspaceOptions,
): Promise<EmbeddingBatchRow | undefined> => (await call(showBatch, options)).batch;

export function batchText(
  {
    state,
    startedAt,
    model,
    texts,
    left = 0,
    batchId,
    stored,
    error,
    filesLeft,
  }: EmbeddingBatchRow,
  now: number,
): string {
  const facts = [
    `batch: ${state}, started ${isoTime(startedAt)} (${ago(now - startedAt)} ago)`,
    ...(texts === undefined ? [] : [`${texts} ${texts === 1 ? 'text' : 'texts'} for ${model}`]),
    ...(left > 0 ? [`texts left for another batch: ${left}`] : []),
    ...(batchId === undefined ? [] : [`the provider's id is ${batchId}`]),
    ...(stored === undefined ? [] : [`vectors stored: ${stored}`]),
    ...(error === undefined ? [] : [`${error.code}: ${error.message}`]),
    ...(filesLeft === undefined
      ? []
      : [`these files are still at the provider: ${filesLeft.join(', ')}`]),
  ];
  return `${facts.join('\n  ')}\n`;
}

async function changed(
  operation: typeof startBatch | typeof cancelBatch,
  options: AgentWorkspaceOptions,
): Promise<number> {
  const batch = await call(operation, options);
  if (options.json) printJson({ batch });
  else process.stdout.write(`${batchText(batch, Date.now())}troupe memory status shows it\n`);
  return exitCodes.ok;
}

async function call<R extends TSchema>(
  operation: Operation<(typeof startBatch)['params'], R>,
  options: AgentWorkspaceOptions,
): Promise<Static<R>> {
  const { config } = await loadForTenant(options);
  const agent = options.agent ?? defaultAgent(config).id;
  try {
    return await callOperation(operation, await gatewayHttp(options), { agent }, options);
  } catch (error) {
    if (!(error instanceof TroupeError) || connectionFailure(error) === undefined) throw error;
    throw new TroupeError(
      'UNAVAILABLE',
      `a batch needs troupe to run, because it lasts for hours: start it with "troupe start" (${error.message})`,
      { cause: error, details: error.details ?? {} },
    );
  }
}
