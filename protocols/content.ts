/** Images and files in messages, and the limits that every entry point checks. */
import { type Static, Type } from '@sinclair/typebox';

/** Maximum number of images in one message and in one tool result. */
export const IMAGES_MAX = 8;
/** Maximum size of one image before base64. Entry points also limit the total of a message. */
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
/** An image in the form that models accept. */
export type ImagePart = Static<typeof ImagePartSchema>;

const MAGIC: readonly (readonly [ImagePart['mimeType'], number, string])[] = [
  ['image/png', 0, '89504e470d0a1a0a'],
  ['image/jpeg', 0, 'ffd8ff'],
  ['image/gif', 0, '474946383'],
  ['image/webp', 8, '57454250'],
];

/** Detects the type from the first 16 bytes; a file name is not reliable. */
export const imageTypeOf = (bytes: Uint8Array): ImagePart['mimeType'] | undefined => {
  const hex = Buffer.from(bytes.subarray(0, 16)).toString('hex');
  return MAGIC.find(([, at, magic]) => hex.startsWith(magic, 2 * at))?.[0];
};

/** Maximum number of files in one message of an agent, and maximum size of one. */
export const FILES_MAX = 10;
export const FILE_BYTES_MAX = 20 * 1_048_576;

/** A file that an agent sends. The bucket of its tenant has the content, named by `hash`. */
export type FilePart = {
  /** without a folder; at most 120 characters */
  readonly name: string;
  /** by the content of an image, otherwise by the name */
  readonly contentType: string;
  /** size */
  readonly bytes: number;
  /** SHA-256, lower-case hex */
  readonly hash: string;
};

/** The text of a message for clients that show no files: their names and sizes follow it. */
export const textWithFiles = ({
  text,
  files = [],
}: {
  readonly text: string;
  readonly files?: readonly FilePart[];
}): string =>
  [text, ...files.map(({ name, bytes }) => `(file ${name}, ${bytes} bytes)`)]
    .filter((line) => line !== '')
    .join('\n\n');
