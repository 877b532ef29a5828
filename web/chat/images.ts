/**
 * Checks images that are pasted, dropped or picked against the gateway's limits. An image that the
 * gateway would refuse is refused here with the reason, before anything is sent.
 */
import type { SentImage } from './conversation.ts';
import { fileStrings } from './file-strings.ts';
import { IMAGE_BOUNDS, IMAGE_TYPES, sizeOf } from './image-limits.ts';

/**
 * Adds the files that fit to a message. Never rejects.
 * @param images those of the message now: it may be sent, or get others, while a file is read
 * @returns why other files were refused
 */
export const addFiles = async (
  files: Iterable<File>,
  images: () => readonly SentImage[],
  change: (part: { readonly images: readonly SentImage[] }) => void,
): Promise<readonly string[]> => {
  const refused: string[] = [];
  for (const file of files) {
    const image = whyNot(file, images()) === undefined ? await imageOf(file) : undefined;
    const why = whyNot(file, images());
    if (image && why === undefined) change({ images: [...images(), image] });
    else refused.push(why ?? fileStrings.notRead(nameOf(file)));
  }
  return refused;
};

const whyNot = (file: File, images: readonly SentImage[]): string | undefined => {
  const name = nameOf(file);
  const { count, bytesEach, bytesTogether } = IMAGE_BOUNDS;
  if (!IMAGE_TYPES.includes(file.type)) return fileStrings.notAnImage(name);
  if (images.length >= count) return fileStrings.tooManyImages(name, count);
  if (file.size > bytesEach)
    return fileStrings.imageTooLarge(name, sizeOf(file.size), sizeOf(bytesEach));
  const together = images.reduce((sum, { content }) => sum + bytesOf(content), file.size);
  return together > bytesTogether
    ? fileStrings.imagesTooLarge(name, sizeOf(bytesTogether))
    : undefined;
};

const nameOf = ({ name, type }: File): string => name || type || '?';

const bytesOf = (base64: string): number => Math.floor((base64.length * 3) / 4);

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
