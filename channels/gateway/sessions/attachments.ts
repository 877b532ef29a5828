/**
 * Converts the attachments of a message to images for models. An invalid attachment is refused with
 * its name and the reason. Pure.
 */
import {
  IMAGE_BYTES_MAX,
  IMAGE_TYPES,
  imageTypeOf,
  type ImagePart,
  IMAGES_MAX,
} from '../../../protocols/content.ts';
import { TroupeError } from '../../../protocols/errors.ts';
import type { Attachment } from '../../../protocols/gateway/index.ts';

/** Total bytes of a message's images; encoded as base64 they fit into one message (4 MiB). */
export const IMAGES_BYTES_MAX = 2.75 * 2 ** 20;

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const DATA_URL = /^data:([a-z]+\/[a-z0-9.+-]+);base64,/i;

/** @throws TroupeError INVALID_ARGUMENT */
export const imagesOf = (attachments: readonly unknown[] | undefined): readonly ImagePart[] => {
  if (attachments === undefined || attachments.length === 0) return [];
  if (attachments.length > IMAGES_MAX) {
    throw wrong('', `are ${attachments.length}: a message has at most ${IMAGES_MAX}`);
  }
  const images = attachments.map((attachment, at) => imageOf(attachment, `/${at}`));
  const bytes = images.reduce((sum, { data }) => sum + bytesOf(data), 0);
  if (bytes > IMAGES_BYTES_MAX) {
    throw wrong('', `have ${bytes} bytes together, at most ${IMAGES_BYTES_MAX} are allowed`);
  }
  return images;
};

const imageOf = (attachment: unknown, place: string): ImagePart => {
  const given = attachment as Attachment | null | undefined;
  const content = given?.content;
  if (typeof content !== 'string' || content === '') {
    throw wrong(place, 'has no content: send the image as base64 in "content"');
  }
  const data = content.replace(DATA_URL, '').replace(/[\r\n]/g, '');
  if (data.length % 4 !== 0 || !BASE64.test(data)) throw wrong(place, 'is not base64');
  const bytes = bytesOf(data);
  if (bytes > IMAGE_BYTES_MAX) {
    throw wrong(place, `has ${bytes} bytes, at most ${IMAGE_BYTES_MAX} are allowed`);
  }
  const mimeType = imageTypeOf(Buffer.from(data.slice(0, 24), 'base64'));
  if (mimeType !== undefined) return { mimeType, data };
  const said = given?.mimeType ?? DATA_URL.exec(content)?.[1] ?? given?.type ?? 'nothing';
  throw wrong(
    place,
    `is not an image (its type is ${said.slice(0, 60)}): send ${IMAGE_TYPES.join(', ')}`,
  );
};

const bytesOf = (base64: string): number =>
  (base64.length / 4) * 3 - (base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0);

const wrong = (place: string, what: string): TroupeError =>
  new TroupeError('INVALID_ARGUMENT', `/attachments${place} ${what}`);
