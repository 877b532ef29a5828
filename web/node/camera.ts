/** `camera.snap`: takes one picture. The camera is on only meanwhile. */
import {
  base64Of,
  browserPermission,
  type Capability,
  CommandError,
  type Doing,
  stopAll,
} from './capability.ts';

type Params = {
  readonly facing?: 'front' | 'back';
  readonly maxWidth?: number;
  readonly quality?: number;
};

const WIDTH_DEFAULT = 1_600;
const QUALITY_DEFAULT = 0.85;

const snap = async (params: Params, { signal }: Doing): Promise<object> => {
  const { facing = 'front', maxWidth = WIDTH_DEFAULT, quality = QUALITY_DEFAULT } = params;
  const stream = await navigator.mediaDevices.getUserMedia({
    video: { facingMode: facing === 'front' ? 'user' : 'environment', width: { ideal: maxWidth } },
  });
  try {
    const video = document.createElement('video');
    video.muted = true;
    video.playsInline = true;
    video.srcObject = stream;
    await video.play();
    signal.throwIfAborted();
    return await pictureOf(video, maxWidth, quality);
  } finally {
    stopAll(stream);
  }
};

const pictureOf = async (video: HTMLVideoElement, maxWidth: number, quality: number) => {
  const scale = Math.min(1, maxWidth / video.videoWidth);
  const canvas = document.createElement('canvas');
  canvas.width = Math.round(video.videoWidth * scale);
  canvas.height = Math.round(video.videoHeight * scale);
  canvas.getContext('2d')?.drawImage(video, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((resolve) => {
    canvas.toBlob(resolve, 'image/jpeg', quality);
  });
  if (blob === null) throw new CommandError('UNAVAILABLE', 'the camera gave no picture');
  const { width, height } = canvas;
  return { format: 'jpeg', mimeType: 'image/jpeg', base64: await base64Of(blob), width, height };
};

export const camera: Capability = {
  name: 'camera',
  command: 'camera.snap',
  description: 'Takes a picture with the camera; answers {format, base64, width, height}.',
  params: {
    type: 'object',
    additionalProperties: false,
    properties: {
      facing: { enum: ['front', 'back'] },
      maxWidth: { type: 'integer', minimum: 16, maximum: 4_096 },
      quality: { type: 'number', minimum: 0.05, maximum: 1 },
    },
  },
  supported: () => navigator.mediaDevices?.getUserMedia !== undefined,
  permission: () => browserPermission('camera'),
  request: async () => stopAll(await navigator.mediaDevices.getUserMedia({ video: true })),
  run: snap,
};
