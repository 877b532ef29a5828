/**
 * The workspace of a batch of calls: opened by the first that needs it, saved when all have ended.
 * What can not be kept (a link that leads out, more files than the limit) costs no result: the
 * calls have run, and the model reads of both and mends it. For effects with `workspace:
 * 'discard'`.
 */
import { errorData, type ErrorCode } from '../../../protocols/errors.ts';
import type { EffectContext } from '../../../runtime/index.ts';
import type { ToolResult } from '../types.ts';

/** What is the fault of the files, not of the place that they are kept in. */
const OF_FILES: ReadonlySet<ErrorCode> = new Set(['INVALID_ARGUMENT', 'PAYLOAD_TOO_LARGE']);

type Opening = ReturnType<EffectContext['workspace']>;

/** @throws TroupeError CONFLICT, UNAVAILABLE when the workspace could not be saved for now */
export async function keepingWorkspace(
  context: EffectContext,
  work: (context: EffectContext) => Promise<readonly ToolResult[]>,
): Promise<readonly ToolResult[]> {
  const opened: Opening[] = [];
  const workspace: EffectContext['workspace'] = (actor) => {
    const opening = context.workspace(actor);
    opened.push(opening);
    return opening;
  };
  const results = await work({ ...context, workspace });
  try {
    // one that could not be opened has told its call so
    for (const opening of new Set(opened)) await (await opening.catch(() => undefined))?.save();
    return results;
  } catch (error) {
    const { code, message } = errorData(error);
    if (!OF_FILES.has(code)) throw error;
    const note = `[The workspace was not saved: ${message}. Mend it, or its changes may be lost.]`;
    return results.map((one, n) =>
      n === results.length - 1 ? { ...one, result: `${one.result}\n${note}` } : one,
    );
  }
}
