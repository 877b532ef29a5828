/** Export file: the frames of an export in a framed file. */
import { TroupeError } from '../../protocols/errors.ts';
import { checkFrame } from './check-frame.ts';
import {
  checkFramedFile,
  damaged,
  readFramedFile,
  type WrittenFile,
  writeFramedFile,
} from './framed-file.ts';
import { type ExportHeader, FORMAT, type Frame } from './frames.ts';

const WORDS = { writer: 'troupe export', remedy: 'Export again.' };

/**
 * Writes the frames and flushes them; only then the file receives its name.
 * @param force replace a file of this name
 * @throws TroupeError CONFLICT when there is one and `force` is not given
 */
export const writeExportFile = (
  path: string,
  frames: AsyncIterable<Frame>,
  { force = false } = {},
): Promise<WrittenFile> => writeFramedFile(path, frames, { force });

/**
 * Reads the whole file to verify its checksum before it is used. @throws TroupeError
 * INVALID_ARGUMENT when it is damaged, of a newer format, or a backup; NOT_FOUND
 */
export async function checkExportFile(
  path: string,
): Promise<WrittenFile & { readonly header: ExportHeader }> {
  const { bytes, sha256, sealed } = await checkFramedFile(path, WORDS);
  if (sealed) throw isBackup(path);
  for await (const frame of readExportFile(path)) {
    if (frame[0] !== 'header') break;
    checkFormat(path, frame[1]);
    return { bytes, sha256, header: frame[1] };
  }
  throw damaged(path, WORDS, 'it has no header');
}

/**
 * The frames of a file that was checked, up to and with its end.
 * @throws TroupeError INVALID_ARGUMENT when the file has changed since the check
 */
export async function* readExportFile(path: string): AsyncGenerator<Frame> {
  let last: Frame | undefined;
  for await (const frame of readFramedFile(path, WORDS)) {
    if (last === undefined && Array.isArray(frame) && frame[0] === 'backup') throw isBackup(path);
    try {
      checkFrame(frame);
    } catch (error) {
      throw damaged(path, WORDS, (error as Error).message, error);
    }
    last = frame;
    yield frame;
  }
  if (last?.[0] !== 'end') throw damaged(path, WORDS, 'it has no end');
}

function checkFormat(path: string, { format, program }: ExportHeader): void {
  if (format <= FORMAT) return;
  throw new TroupeError(
    'INVALID_ARGUMENT',
    `${path} has format ${format}, written by troupe ${program}; this program reads up to ${FORMAT}. ` +
      'Use the newer program.',
  );
}

const isBackup = (path: string): TroupeError =>
  new TroupeError(
    'INVALID_ARGUMENT',
    `${path} is a backup: restore it with troupe restore, and export the restored data folder`,
  );
