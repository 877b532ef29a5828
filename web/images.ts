/** Images that are pasted or picked, as the gateway takes them. */
import type { SentImage } from './conversation.ts';

const TYPES = 'image/png,image/jpeg,image/gif,image/webp';
export const IMAGE_TYPES = TYPES;

/** Those of the files that are images; others are left out. */
export const imagesOf = async (files: Iterable<File>): Promise<readonly SentImage[]> =>
  Promise.all([...files].filter(({ type }) => TYPES.split(',').includes(type)).map(imageOf));

const imageOf = (file: File): Promise<SentImage> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('error', () => reject(reader.error ?? new Error('not read')));
    reader.addEventListener('load', () => {
      const content = (reader.result as string).replace(/^data:[^,]*,/, '');
      resolve({ fileName: file.name, mimeType: file.type, content });
    });
    reader.readAsDataURL(file);
  });
