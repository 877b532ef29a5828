/**
 * Checks images that are pasted, dropped or picked against the gateway's limits. An image that the
 * gateway would refuse is refused here with the reason, before anything is sent.
 */
import type { SentImage } from './conversation.ts';
import { strings } from '../strings.ts';

const TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
export const IMAGE_TYPES = TYPES.join(',');

/** Limits of the gateway (channels/gateway/sessions/attachments.ts); bytes. */
export const IMAGE_BOUNDS = { count: 8, bytesEach: 1_048_576, bytesTogether: 2_883_584 };

export const imageLimits = (): string => {
  const { count, bytesEach, bytesTogether } = IMAGE_BOUNDS;
  return strings.imageLimits(count, sizeOf(bytesEach), sizeOf(bytesTogether));
};

export type Added = {
  readonly images: readonly SentImage[];
  /** why other files were refused */
  readonly refused: readonly string[];
};

/** Adds the files that fit to a message. Never rejects. */
export const withFiles = async (
  before: readonly SentImage[],
  files: Iterable<File>,
): Promise<Added> => {
  const images = [...before];
  const refused: string[] = [];
  for (const file of files) {
    const why = whyNot(file, images);
    const image = why === undefined ? await imageOf(file) : undefined;
    if (image) images.push(image);
    else refused.push(why ?? strings.notRead(nameOf(file)));
  }
  return { images, refused };
};

const whyNot = (file: File, images: readonly SentImage[]): string | undefined => {
  const name = nameOf(file);
  const { count, bytesEach, bytesTogether } = IMAGE_BOUNDS;
  if (!TYPES.includes(file.type)) return strings.notAnImage(name);
  if (images.length >= count) return strings.tooManyImages(name, count);
  if (file.size > bytesEach)
    return strings.imageTooLarge(name, sizeOf(file.size), sizeOf(bytesEach));
  const together = images.reduce((sum, { content }) => sum + bytesOf(content), file.size);
  return together > bytesTogether ? strings.imagesTooLarge(name, sizeOf(bytesTogether)) : undefined;
};

const nameOf = ({ name, type }: File): string => name || type || '?';

const bytesOf = (base64: string): number => Math.floor((base64.length * 3) / 4);

/** `1.5 MB`, of 1024 × 1024 bytes. */
const sizeOf = (bytes: number): string => {
  const megabytes = bytes / 1_048_576;
  return megabytes < 0.1
    ? `${Math.ceil(bytes / 1_024)} KB`
    : `${Number(megabytes.toFixed(megabytes < 10 ? 2 : 0))} MB`;
};

const imageOf = (file: File): Promise<SentImage | undefined> =>
  new Promise((resolve) => {
    const reader = new FileReader();
    reader.addEventListener('error', () => resolve(undefined));
    reader.addEventListener('load', () => {
      const content = (reader.result as string).replace(/^data:[^,]*,/, '');
      resolve({ fileName: file.name, mimeType: file.type, content });
    });
    reader.readAsDataURL(file);
  });
