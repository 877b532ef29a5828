/** The result of a tool of an MCP server, as text and images for a model. Pure. */
import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';
import {
  IMAGE_BYTES_MAX,
  type ImagePart,
  imageTypeOf,
  IMAGES_MAX,
} from '../../protocols/content.ts';
import { plainName, plainText } from '../../protocols/plain-text.ts';
import { cutText } from '../tools/registry.ts';
import type { ToolResult } from '../tools/tool.ts';
import { isObject } from '../../protocols/is-object.ts';

/** What a call returned. */
export type CallResult = Pick<ToolResult, 'text' | 'isError' | 'images'>;

const LINK_CHARACTERS_MAX = 2_000;

/** @param declined what the server asked and did not get */
export function callResult(
  { content, structuredContent, isError }: CallToolResult,
  declined: readonly string[] = [],
): CallResult {
  const images: ImagePart[] = [];
  const parts = content.map((block) => partOf(block, images));
  const hasText = content.some(({ type }) => type === 'text');
  if (!hasText && structuredContent !== undefined) parts.push(JSON.stringify(structuredContent));
  const text = [...parts, ...declined.map(declinedNote)].filter((part) => part !== '').join('\n');
  return {
    text: cutText(clean(text)) || '(the tool returned nothing)',
    ...(isError === true && { isError }),
    ...(images.length > 0 && { images }),
  };
}

/** Of a result that was not checked by the SDK, such as that of a task. */
export const foreignResult = (value: unknown): CallResult => {
  if (!isObject(value)) return { text: 'The server returned an invalid result.', isError: true };
  const { content, structuredContent, isError } = value;
  const blocks = Array.isArray(content) ? content.filter(isBlock) : [];
  return callResult({ content: blocks, structuredContent, isError: isError === true });
};

const declinedNote = (question: string): string =>
  `[the server asked for input, which was declined, because no person answers here: ${plainName(question, 500)}]`;

/** The text of a part; an image that a model accepts is added to the images. */
function partOf(block: ContentBlock, images: ImagePart[]): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'image':
      return imagePart(block.data, images);
    case 'audio':
      return '[audio is left out: models do not receive it]';
    case 'resource_link':
      return `[resource ${oneLine(block.uri)}: ${oneLine(block.title ?? block.name)}]`;
    case 'resource': {
      const { resource } = block;
      if ('text' in resource) return `[resource ${oneLine(resource.uri)}]\n${resource.text}`;
      const image = imageOf(resource.blob);
      return image
        ? imagePart(resource.blob, images)
        : `[resource ${oneLine(resource.uri)} is left out: it is no text]`;
    }
  }
}

function imagePart(data: string, images: ImagePart[]): string {
  const image = imageOf(data);
  if (!image) return '[an image is left out: its type is not supported, or it is too large]';
  if (images.length >= IMAGES_MAX)
    return `[an image is left out: only ${IMAGES_MAX} are passed on]`;
  images.push(image);
  return '';
}

/** By the content: the type that a server names may be wrong. */
function imageOf(data: string): ImagePart | undefined {
  if (data.length > Math.ceil(IMAGE_BYTES_MAX / 3) * 4) return undefined;
  const bytes = Buffer.from(data, 'base64');
  const mimeType = imageTypeOf(bytes);
  return mimeType && { mimeType, data: bytes.toString('base64') };
}

const oneLine = (text: string): string => plainText(text.slice(0, LINK_CHARACTERS_MAX)).trim();

/** Without control characters other than tabs and line ends, and without halves of characters. */
const clean = (text: string): string =>
  text.replaceAll(/[^\P{Cc}\t\n\r]/gu, '').replaceAll(/\p{Cs}/gu, '\ufffd');

function isBlock(value: unknown): value is ContentBlock {
  if (!isObject(value)) return false;
  const { type, text, data, uri, name, title, resource } = value;
  const isText = (part: unknown) => typeof part === 'string';
  if (type === 'text') return isText(text);
  if (type === 'image' || type === 'audio') return isText(data);
  if (type === 'resource_link') return isText(uri) && isText(title ?? name);
  if (type !== 'resource' || !isObject(resource)) return false;
  return isText(resource['uri']) && (isText(resource['text']) || isText(resource['blob']));
}
