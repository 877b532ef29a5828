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
type Results = readonly ToolResult[];

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

/** Others save between so often, at most; each time one of them gets on. */
const TRIES_MAX = 8;

/**
 * @param mayRepeat the calls may be made again. A conflict gives up all that they did to the
 * workspace, so also calls may that do nothing else and may not run twice
 * @throws TroupeError CONFLICT when others saved at each try, UNAVAILABLE when it can not be saved
 * for now; never where the calls may not be made again
 */
export async function keepingWorkspace(
  context: EffectContext,
  work: (context: EffectContext) => Promise<Results>,
  mayRepeat = true,
): Promise<Results> {
  for (let tried = 1; ; tried++) {
    const opened = new Set<Opening>();
    const workspace: EffectContext['workspace'] = (actor) => {
      const opening = context.workspace(actor);
      opened.add(opening);
      return opening;
    };
    const results = await work({ ...context, workspace });
    try {
      const fault = await firstFault(opened);
      if (fault === undefined) return results;
      const note = `[The workspace was not saved: ${fault}. Mend it, or its changes may be lost.]`;
      return noted(results, note);
    } catch (error) {
      const { code, message } = errorData(error);
      if (!mayRepeat && OF_PLACE.has(code)) return failed(results, code, message);
      if (code !== 'CONFLICT' || tried === TRIES_MAX) throw error;
      for (const opening of opened) await (await opening.catch(() => undefined))?.close();
    }
  }
}

/** Saves all; one that could not be opened has told its call so. @throws as `unkeptOf` */
async function firstFault(opened: Iterable<Opening>): Promise<string | undefined> {
  let first: string | undefined;
  for (const opening of opened) {
    const workspace = await opening.catch(() => undefined);
    const fault = workspace && (await unkeptOf(workspace));
    first ??= fault;
  }
  return first;
}

/** It ran, and what it wrote is not there, or may not be. */
const failed = (results: Results, code: ErrorCode, message: string): Results =>
  noted(
    results,
    code === 'CONFLICT'
      ? '[It ran, but what it changed in the workspace is lost: another session of this agent ' +
          'saved the workspace meanwhile. Look what is there now before you do it again.]'
      : '[It ran, but whether what it changed in the workspace was saved is not known: ' +
          `${message}. Look what is there before you do it again.]`,
  ).map((one) => ({ ...one, isError: true }));

const noted = (results: Results, note: string): Results =>
  results.map((one, n) =>
    n === results.length - 1 ? { ...one, result: `${one.result}\n${note}` } : one,
  );
