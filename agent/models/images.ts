/**
 * Images in model requests: which ones a model accepts, and the text that replaces the others.
 * Pure.
 */
import type { ImagePart } from '../../protocols/content.ts';
import type { ModelInfo } from './model.ts';

export type SeenImages = {
  readonly shown: readonly ImagePart[];
  /** the message's text, with a line for each omitted image */
  readonly text: string;
};

/** `types`: accepted by the API; default every type of `ImagePart`. */
export const imagesFor = (
  message: { readonly images?: readonly ImagePart[] },
  text: string,
  model: ModelInfo,
  types?: readonly string[],
): SeenImages => {
  const images = message.images ?? [];
  const takes = ({ mimeType }: ImagePart) =>
    model.images !== false && (types === undefined || types.includes(mimeType));
  const lines = images.filter((image) => !takes(image)).map(notShown);
  return {
    shown: images.filter(takes),
    text: [text, ...lines].filter((line) => line !== '').join('\n'),
  };
};

/** As a `data:` URL, the form of OpenAI's APIs. */
export const dataUrl = ({ mimeType, data }: ImagePart): string => `data:${mimeType};base64,${data}`;

const notShown = ({ mimeType, data }: ImagePart): string =>
  `[There was an image here (${mimeType}, ${Math.ceil((data.length * 3) / 4 / 1_024)} KiB) ` +
  'that this model cannot see.]';
