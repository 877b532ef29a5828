/** Content of messages beside their text: images, within bounds that every door checks. */
import { type Static, Type } from '@sinclair/typebox';

/** Images of one message, and of one tool's result. */
export const IMAGES_MAX = 8;
/** Of one image, bytes before base64; doors bound all images of a message together, too. */
export const IMAGE_BYTES_MAX = 1_048_576;
export const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const;

export const ImagePartSchema = Type.Object(
  {
    mimeType: Type.Union(IMAGE_TYPES.map((type) => Type.Literal(type))),
    /** base64, without line breaks */
    data: Type.String({ maxLength: Math.ceil((IMAGE_BYTES_MAX * 4) / 3) + 4 }),
  },
  { additionalProperties: false },
);
/** An image as models take it in. */
export type ImagePart = Static<typeof ImagePartSchema>;

const MAGIC: readonly (readonly [ImagePart['mimeType'], number, string])[] = [
  ['image/png', 0, '89504e470d0a1a0a'],
  ['image/jpeg', 0, 'ffd8ff'],
  ['image/gif', 0, '474946383'],
  ['image/webp', 8, '57454250'],
];

/** By the first 16 bytes: a name only says what somebody called the file. */
export const imageTypeOf = (bytes: Uint8Array): ImagePart['mimeType'] | undefined => {
  const hex = Buffer.from(bytes.subarray(0, 16)).toString('hex');
  return MAGIC.find(([, at, magic]) => hex.startsWith(magic, 2 * at))?.[0];
};
