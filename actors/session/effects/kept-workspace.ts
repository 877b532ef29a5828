/**
 * The workspace of a batch of calls: opened by the first that needs it, saved when all have ended.
 * What can not be kept (a link that leads out, more files than the limit) costs no result: the
 * calls have run, and the model reads of both and mends it. Where another worker saved meanwhile,
 * calls that may be repeated are, on what that one saved; of one that may not, the model reads that
 * it ran and that its files are lost. For effects with `workspace: 'discard'`.
 */
import { errorData, type ErrorCode } from '../../../protocols/errors.ts';
import type { EffectContext } from '../../../runtime/index.ts';
import type { ToolResult } from '../types.ts';

/** What is the fault of the files, not of the place that they are kept in. */
const OF_FILES: ReadonlySet<ErrorCode> = new Set(['INVALID_ARGUMENT', 'PAYLOAD_TOO_LARGE']);

/** What a call that may not run again is told of, for nobody makes it again. */
const OF_PLACE: ReadonlySet<ErrorCode> = new Set(['CONFLICT', 'UNAVAILABLE']);

type Opening = ReturnType<EffectContext['workspace']>;

/**
 * Saves it. Answers why its files can not be kept, if that is so.
 *
 * @throws TroupeError CONFLICT, UNAVAILABLE when it could not be saved for now
 */
export async function unkeptOf(workspace: Awaited<Opening>): Promise<string | undefined> {
  try {
    await workspace.save();
    return undefined;
  } catch (error) {
    const { code, message } = errorData(error);
    if (OF_FILES.has(code)) return message;
    throw error;
  }
}

/** @throws TroupeError as `unkeptOf` */
export async function keepingWorkspace(
  context: EffectContext,
  work: (context: EffectContext) => Promise<readonly ToolResult[]>,
): Promise<readonly ToolResult[]> {
  const opened = new Set<Opening>();
  const results = await work({
    ...context,
    workspace(actor) {
      const opening = context.workspace(actor);
      opened.add(opening);
      return opening;
    },
  });
  const faults: string[] = [];
  for (const opening of opened) {
    // one that could not be opened has told its call so
    const workspace = await opening.catch(() => undefined);
    const fault = workspace && (await unkeptOf(workspace));
    if (fault !== undefined) faults.push(fault);
  }
  const [fault] = faults;
  if (fault === undefined) return results;
  const note = `[The workspace was not saved: ${fault}. Mend it, or its changes may be lost.]`;
  return results.map((one, n) =>
    n === results.length - 1 ? { ...one, result: `${one.result}\n${note}` } : one,
  );
}
