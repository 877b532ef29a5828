/** The frames of an export that a backup of a cluster contains, with its blobs and files. */
import type { Frame } from '../../transfer/frames.ts';
import { artifactFrame } from '../bucket-files.ts';
import { BLOBS_FOLDER, type BackupFrame, BUCKET_FOLDER } from '../frames.ts';
import { readObject } from '../objects.ts';

/**
 * @param objects the folder of backups, if it shares objects
 * @throws TroupeError INVALID_ARGUMENT when an object is damaged
 */
export async function* cellFrames(
  frames: AsyncIterable<BackupFrame>,
  objects?: string,
): AsyncGenerator<Frame> {
  let file: { readonly path: string; readonly parts: Uint8Array[] } | undefined;
  for await (const frame of frames) {
    if (frame[0] === 'part') yield frame[1];
    else if (frame[0] === 'object' && isOfCell(frame[1])) {
      const parts: Uint8Array[] = [];
      for await (const part of readObject(objects ?? '', frame[3])) parts.push(part);
      yield* frameOf(frame[1], parts);
    } else if (frame[0] === 'file')
      file = isOfCell(frame[1]) ? { path: frame[1], parts: [] } : undefined;
    else if (frame[0] === 'piece') file?.parts.push(frame[1]);
    else if (frame[0] === 'fileEnd' && file) yield* frameOf(file.path, file.parts);
  }
}

const isOfCell = (path: string): boolean =>
  path.startsWith(BLOBS_FOLDER) || path.startsWith(BUCKET_FOLDER);

function* frameOf(path: string, parts: readonly Uint8Array[]): Generator<Frame> {
  const contents = Buffer.concat(parts);
  if (path.startsWith(BLOBS_FOLDER)) yield ['blob', path.slice(BLOBS_FOLDER.length), contents];
  else {
    const frame = artifactFrame(path, contents);
    if (frame) yield frame;
  }
}
