/** The frames of an export that a backup of a cluster contains, with its blobs. */
import type { Frame } from '../../transfer/frames.ts';
import { BLOBS_FOLDER, type BackupFrame } from '../frames.ts';
import { readObject } from '../objects.ts';

/**
 * @param objects the folder of backups, if it shares objects
 * @throws TroupeError INVALID_ARGUMENT when an object is damaged
 */
export async function* cellFrames(
  frames: AsyncIterable<BackupFrame>,
  objects?: string,
): AsyncGenerator<Frame> {
  let blob: { readonly name: string; readonly parts: Uint8Array[] } | undefined;
  for await (const frame of frames) {
    if (frame[0] === 'part') yield frame[1];
    else if (frame[0] === 'object' && frame[1].startsWith(BLOBS_FOLDER)) {
      const parts: Uint8Array[] = [];
      for await (const part of readObject(objects ?? '', frame[3])) parts.push(part);
      yield ['blob', nameOf(frame[1]), Buffer.concat(parts)];
    } else if (frame[0] === 'file')
      blob = frame[1].startsWith(BLOBS_FOLDER) ? { name: nameOf(frame[1]), parts: [] } : undefined;
    else if (frame[0] === 'piece') blob?.parts.push(frame[1]);
    else if (frame[0] === 'fileEnd' && blob) yield ['blob', blob.name, Buffer.concat(blob.parts)];
  }
}

const nameOf = (path: string): string => path.slice(BLOBS_FOLDER.length);
