/** Files in both directions. */
import { downloadContentFromMessage, type Outgoing } from 'baileys';
import { type ChannelFilePiece, PluginError } from 'troupe/plugin-sdk';
import type { FileRef } from './inbound.ts';

/** Where WhatsApp keeps files. A message names a server, too; its sender could name any. */
const HOST = 'mmg.whatsapp.net';
/** WhatsApp accepts larger images only as documents. */
const IMAGE_BYTES_MAX = 5_242_880;
const IMAGES = ['image/jpeg', 'image/png'];

/** Without a preview: making one needs a native package. */
export function outgoingFile({ name, contentType, data }: ChannelFilePiece['file']): Outgoing {
  const bytes = Buffer.from(data, 'base64');
  return IMAGES.includes(contentType) && bytes.length <= IMAGE_BYTES_MAX
    ? { image: bytes, mimetype: contentType, jpegThumbnail: null }
    : { document: bytes, mimetype: contentType, fileName: name };
}

/** @throws PluginError PAYLOAD_TOO_LARGE as soon as more has arrived, INVALID_ARGUMENT */
export async function downloaded(
  id: string,
  bytesMax: number,
  signal: AbortSignal,
): Promise<string> {
  const { type, key, path } = JSON.parse(id) as FileRef;
  if (!/^\/(?!\/)/.test(path)) throw new PluginError('INVALID_ARGUMENT', 'the file has no address');
  const file = { mediaKey: Buffer.from(key, 'base64'), directPath: path };
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const options = { host: HOST, options: { signal } };
  for await (const chunk of await downloadContentFromMessage(file, type, options)) {
    bytes += chunk.length;
    if (bytes > bytesMax)
      throw new PluginError('PAYLOAD_TOO_LARGE', `the file has more than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('base64');
}
