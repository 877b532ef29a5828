/** `canvas.push`: shows HTML without scripts, text, or a picture on this page. */
import { type Canvas, type Capability, CommandError, type Doing } from './capability.ts';

type Params = {
  readonly html?: string;
  readonly text?: string;
  readonly image?: string;
  readonly mimeType?: string;
  readonly title?: string;
};

const IMAGE = /^image\/(png|jpeg|gif|webp|svg\+xml)$/;

const canvasOf = ({ html, text, image, mimeType = 'image/png', title }: Params): Canvas => {
  const about = title === undefined ? {} : { title };
  if (html !== undefined) return { kind: 'html', content: html, ...about };
  if (text !== undefined) return { kind: 'text', content: text, ...about };
  if (image === undefined)
    throw new CommandError('INVALID_ARGUMENT', 'one of html, text and image is needed');
  if (image.startsWith('data:image/')) return { kind: 'image', content: image, ...about };
  if (!IMAGE.test(mimeType))
    throw new CommandError('INVALID_ARGUMENT', `${mimeType.slice(0, 60)} is not an image type`);
  return { kind: 'image', content: `data:${mimeType};base64,${image}`, ...about };
};

const push = (params: Params, doing: Doing): Promise<object> => {
  const canvas = canvasOf(params);
  doing.show(canvas);
  const visible = document.visibilityState === 'visible';
  return Promise.resolve({ shown: true, kind: canvas.kind, visible });
};

export const canvas: Capability = {
  name: 'canvas',
  command: 'canvas.push',
  description: 'Shows HTML (its scripts do not run), text, or a base64 image to the person.',
  params: {
    type: 'object',
    additionalProperties: false,
    properties: {
      html: { type: 'string' },
      text: { type: 'string' },
      image: { type: 'string', description: 'base64, or a data URL' },
      mimeType: { type: 'string' },
      title: { type: 'string', maxLength: 200 },
    },
  },
  supported: () => true,
  permission: () => Promise.resolve('granted'),
  run: push,
};
