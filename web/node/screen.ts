/**
 * `screen.record`: a video of what the user chooses to share. Browsers ask each time, and only
 * after a click, so this command asks too.
 */
import { base64Of, type Capability, CommandError, type Doing, stopAll } from './capability.ts';

type Params = { readonly durationMs?: number; readonly fps?: number };

const DURATION_MS_MAX = 60_000;
const DURATION_MS_DEFAULT = 10_000;
/** A minute of video at this rate fits into one frame of the protocol. */
const BITS_PER_SECOND = 1_500_000;
const BYTES_MAX = 17_000_000;

const record = async (params: Params, doing: Doing): Promise<object> => {
  const { durationMs = DURATION_MS_DEFAULT, fps = 15 } = params;
  await doing.ask();
  const stream = await navigator.mediaDevices.getDisplayMedia({
    video: { frameRate: fps },
    audio: false,
  });
  try {
    const film = await filmOf(stream, Math.min(durationMs, DURATION_MS_MAX), doing.signal);
    if (film.blob.size > BYTES_MAX) {
      throw new CommandError(
        'PAYLOAD_TOO_LARGE',
        `the film has ${film.blob.size} bytes, ${BYTES_MAX} fit: ask for a shorter one`,
      );
    }
    const { width, height } = stream.getVideoTracks()[0]?.getSettings() ?? {};
    const base64 = await base64Of(film.blob);
    const about = { durationMs: film.durationMs, fps, width, height, hasAudio: false };
    return { format: 'webm', mimeType: 'video/webm', base64, ...about };
  } finally {
    stopAll(stream);
  }
};

/** Ends early when the user stops sharing; the recording up to then is returned. */
const filmOf = (stream: MediaStream, durationMs: number, signal: AbortSignal) =>
  new Promise<{ blob: Blob; durationMs: number }>((resolve, reject) => {
    const recorder = new MediaRecorder(stream, {
      mimeType: 'video/webm',
      videoBitsPerSecond: BITS_PER_SECOND,
    });
    const parts: Blob[] = [];
    const began = performance.now();
    const stop = () => recorder.state !== 'inactive' && recorder.stop();
    const timer = setTimeout(stop, durationMs);
    recorder.addEventListener('dataavailable', ({ data }) => parts.push(data));
    recorder.addEventListener('error', () => reject(new CommandError('UNAVAILABLE', 'no film')));
    recorder.addEventListener('stop', () => {
      clearTimeout(timer);
      const took = Math.min(durationMs, Math.round(performance.now() - began));
      resolve({ blob: new Blob(parts, { type: 'video/webm' }), durationMs: took });
    });
    // After an abort no caller waits for the video.
    signal.addEventListener('abort', stop);
    stream.getVideoTracks()[0]?.addEventListener('ended', stop);
    recorder.start();
  });

export const screenCapability: Capability = {
  name: 'screen',
  command: 'screen.record',
  description: 'Films the screen after the person agreed; answers {format, base64, durationMs}.',
  params: {
    type: 'object',
    additionalProperties: false,
    properties: {
      durationMs: { type: 'integer', minimum: 100, maximum: DURATION_MS_MAX },
      fps: { type: 'integer', minimum: 1, maximum: 30 },
    },
  },
  supported: () =>
    navigator.mediaDevices?.getDisplayMedia !== undefined && typeof MediaRecorder === 'function',
  permission: () => Promise.resolve('undetermined'),
  run: record,
};
