/**
 * The files that a remote agent answers with (A2A): short texts are shown, images go to the model,
 * and all others are stored in the bucket of the tenant. A file at a URL is read only from the
 * agent's own origins; links to other places are named.
 */
import type { Part } from '@a2a-js/sdk';
import {
  FILE_BYTES_MAX,
  FILES_MAX,
  IMAGES_MAX,
  type ImagePart,
  imageTypeOf,
} from '../../protocols/content.ts';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import { plainName } from '../../protocols/plain-text.ts';
import { signalWithin } from '../../protocols/time-limit.ts';
import type { Artifacts } from '../../runtime/index.ts';
import type { RemoteHttp } from './remote-http.ts';

/** All images of one result: they are stored with the call. */
const IMAGE_BYTES_IN_ALL_MAX = 1_048_576;
const SHOWN_BYTES_MAX = 16_384;
const DOWNLOADS_MS = 20_000;
const TEXT_TYPE = /^(text\/[a-z0-9.+-]+|application\/(json|xml|yaml|x-yaml))$/;
/** Every bucket accepts it by default. */
const OTHER_TYPE = 'application/octet-stream';

export type FileStore = {
  readonly tenant: string;
  readonly bucket: Promise<Pick<Artifacts, 'put'>>;
  readonly http: RemoteHttp;
  readonly signal: AbortSignal;
};

export type KeptFiles = {
  /** what the result says about each file */
  readonly texts: ReadonlyMap<Part, string>;
  readonly images: readonly ImagePart[];
  /** files above the limit */
  readonly leftOut: number;
};

type File = { readonly name: string; readonly type: string; readonly contents: Buffer };

/** Never throws for a file: its text says why it was not stored. @throws CANCELLED */
export async function keepFiles(parts: readonly Part[], store: FileStore): Promise<KeptFiles> {
  const within = { ...store, signal: signalWithin(store.signal, DOWNLOADS_MS) };
  const texts = new Map<Part, string>();
  const images: ImagePart[] = [];
  let [files, imageBytes] = [0, 0];
  for (const part of parts) {
    if (part.content?.$case !== 'raw' && part.content?.$case !== 'url') continue;
    if (++files > FILES_MAX) continue;
    const file = await contentsOf(part, within);
    if (typeof file === 'string') {
      texts.set(part, file);
      continue;
    }
    const mimeType = imageTypeOf(file.contents);
    const { length } = file.contents;
    if (mimeType && images.length < IMAGES_MAX && imageBytes + length <= IMAGE_BYTES_IN_ALL_MAX) {
      imageBytes += length;
      images.push({ mimeType, data: file.contents.toString('base64') });
    }
    texts.set(part, shownOf(file) ?? (await stored(file, within)));
  }
  if (store.signal.aborted) throw new TroupeError('CANCELLED', 'the call was aborted');
  return { texts, images, leftOut: Math.max(0, files - FILES_MAX) };
}

const nameOf = ({ filename, content }: Part): string => {
  const link = content?.$case === 'url' ? content.value.split(/[?#]/, 1)[0]!.split('/').at(-1) : '';
  return plainName(filename || link || '', 120) || 'without a name';
};

/** The file, or a text about it. */
async function contentsOf(part: Part, { http, signal }: FileStore): Promise<File | string> {
  const name = nameOf(part);
  const type = part.mediaType.split(';', 1)[0]!.trim().toLowerCase();
  const { content } = part;
  if (content?.$case === 'raw') return { name, type, contents: Buffer.from(content.value) };
  const url = content?.$case === 'url' ? content.value : '';
  const link = `[file ${name}: ${plainName(url, 2_000)}`;
  if (!http.allows(url)) return `${link}]`;
  try {
    const { body } = await http.get(new URL(url), { signal, bytesMax: FILE_BYTES_MAX });
    return { name, type, contents: body };
  } catch (error) {
    return `${link} (not read: ${errorData(error).message})]`;
  }
}

/** Short text as it is. */
function shownOf({ name, type, contents }: File): string | undefined {
  if (!TEXT_TYPE.test(type) || contents.length > SHOWN_BYTES_MAX) return undefined;
  return `[file ${name}]\n${contents.toString()}\n[end of file ${name}]`;
}

async function stored(
  { name, type, contents }: File,
  { bucket, tenant }: FileStore,
): Promise<string> {
  const head = `[file ${name}: ${plainName(type, 100) || 'no type'}, ${contents.length} bytes`;
  if (contents.length > FILE_BYTES_MAX) return `${head}, too large to be stored]`;
  const put = async (contentType: string) => (await bucket).put(tenant, contents, { contentType });
  try {
    const { hash } = await put(type).catch((error: unknown) => {
      if (errorData(error).code !== 'INVALID_ARGUMENT') throw error;
      return put(OTHER_TYPE);
    });
    return `${head}, stored as the artifact ${hash}]`;
  } catch (error) {
    return `${head}, not stored: ${errorData(error).message}]`;
  }
}
