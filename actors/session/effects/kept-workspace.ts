/**
 * The workspace of a batch of calls: opened by the first call that needs it, saved when all have
 * ended. Paths that cannot be saved (a link that escapes, more files than the limit) do not change
 * the results; the model reads which paths are missing and why. If another worker saves in the
 * meantime, calls that may be repeated run again on the new version. For a call that may not run
 * again, the model reads that it ran and that its files are lost. For effects with
 * `workspace: 'discard'`.
 */
import { errorData, type ErrorCode } from '../../../protocols/errors.ts';
import type { EffectContext } from '../../../runtime/index.ts';
import { cutMiddle } from '../../../agent/context/cut.ts';
import { servicesOf } from '../../../agent/services.ts';
import type { ToolResult } from '../types.ts';

/** Errors that become the result of a call that may not run again. */
const OF_PLACE: ReadonlySet<ErrorCode> = new Set(['CONFLICT', 'UNAVAILABLE']);

type Opening = ReturnType<EffectContext['workspace']>;
type Results = readonly ToolResult[];
type LeftOut = Awaited<ReturnType<Awaited<Opening>['save']>>;

/** The result of saving a workspace within its limits. */
type Saved =
  | { readonly saved: true; readonly leftOut: LeftOut }
  /** nothing was saved: the workspace exceeds its limits */
  | { readonly saved: false; readonly why: string };

/** @throws TroupeError CONFLICT, UNAVAILABLE when it could not be saved for now */
export async function savedOf(workspace: Awaited<Opening>): Promise<Saved> {
  try {
    return { saved: true, leftOut: await workspace.save() };
  } catch (error) {
    const { code, message } = errorData(error);
    if (code === 'PAYLOAD_TOO_LARGE') return { saved: false, why: message };
    throw error;
  }
}

/**
 * Attempts when other workers save in between. Each failed attempt means that another one saved.
 */
export const TRIES_MAX = 8;

/**
 * @param mayRepeat whether the calls may run again. A conflict discards their changes to the
 *   workspace. So calls that may not run twice are included if the workspace is all that they
 *   change
 * @throws TroupeError CONFLICT when others saved at each attempt, UNAVAILABLE when it cannot be
 *   saved for now; never if the calls may not run again
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
      const notes = await saveAll(opened);
      if (notes.length === 0) return results;
      return noted(results, servicesOf(context).secrets.text(notes.join('\n')));
    } catch (error) {
      const { code, message } = errorData(error);
      if (!mayRepeat && OF_PLACE.has(code)) return failed(results, code, message);
      if (code !== 'CONFLICT' || tried === TRIES_MAX) throw error;
      for (const opening of opened) await (await opening.catch(() => undefined))?.close();
    }
  }
}

/**
 * Saves all workspaces, and returns texts for the model about those that were not saved completely.
 * A workspace that could not be opened was reported to its call. @throws as `savedOf`
 */
async function saveAll(opened: Iterable<Opening>): Promise<readonly string[]> {
  const notes: string[] = [];
  for (const opening of opened) {
    const workspace = await opening.catch(() => undefined);
    const saved = workspace && (await savedOf(workspace));
    if (saved === undefined) continue;
    if (!saved.saved)
      notes.push(
        `[The workspace was not saved: ${saved.why}. Repair it, or its changes may be lost.]`,
      );
    else if (saved.leftOut.length > 0) notes.push(leftOutNote(saved.leftOut));
  }
  return notes;
}

/** Paths that one note names, and characters of each line of it. */
const NAMED_MAX = 20;
const LINE_CHARACTERS_MAX = 400;

function leftOutNote(leftOut: LeftOut): string {
  const lines = leftOut
    .slice(0, NAMED_MAX)
    .map(({ path, reason }) =>
      cutMiddle(`${JSON.stringify(path)}: ${reason}`, LINE_CHARACTERS_MAX),
    );
  const rest = leftOut.length - lines.length;
  if (rest > 0) lines.push(`and ${rest} more`);
  return `[These paths are not saved with the workspace:\n${lines.join('\n')}]`;
}

/** Results of calls that ran although their files were lost, or may be lost. */
const failed = (results: Results, code: ErrorCode, message: string): Results =>
  noted(
    results,
    code === 'CONFLICT'
      ? '[It ran, but what it changed in the workspace is lost: another session of this agent ' +
          'saved the workspace in the meantime. Check its present state before you do it again.]'
      : '[It ran, but whether what it changed in the workspace was saved is not known: ' +
          `${message}. Check its present state before you do it again.]`,
  ).map((one) => ({ ...one, isError: true }));

const noted = (results: Results, note: string): Results =>
  results.map((one, n) =>
    n === results.length - 1 ? { ...one, result: `${one.result}\n${note}` } : one,
  );
