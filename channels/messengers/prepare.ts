/**
 * Prepares an inbound message: its hooks run, images become part of the message, and other files
 * are stored in the agent's workspace. May be repeated.
 *
 * Invariant: a file that cannot be received is named in the text with the reason; the text is never
 * lost.
 */
import type { HookAbout } from '../../agent/hooks/hooks.ts';
import { workspacePath } from '../../agent/tools/files/paths.ts';
import { replaceFile } from '../../agent/tools/files/replace-file.ts';
import type { PrepareInput, PrepareOutput } from '../../actors/chat/types.ts';
import type { InboundMedia } from '../../protocols/channel.ts';
import {
  IMAGE_BYTES_MAX,
  IMAGES_MAX,
  type ImagePart,
  imageTypeOf,
} from '../../protocols/content.ts';
import { errorData, TroupeError } from '../../protocols/errors.ts';
import { plainName } from '../../protocols/plain-text.ts';
import type { Workspace } from '../../runtime/workspaces/workspaces.ts';
import type { ChannelHooks, OpenAccount } from './open-account.ts';

/** Folder in the agent's workspace, and the longest file name there. */
const RECEIVED_FOLDER = 'received';
const NAME_CHARACTERS_MAX = 80;

export type PrepareParts = {
  readonly open: OpenAccount;
  readonly hooks: ChannelHooks;
  /** the workspace of the agent that gets the message */
  readonly workspace: () => Promise<Workspace>;
  readonly signal: AbortSignal;
};

type Received = { readonly image?: ImagePart; readonly line: string };

export async function preparedMessage(
  input: PrepareInput,
  parts: PrepareParts,
): Promise<PrepareOutput> {
  const { message, route } = input;
  const received: Received[] = [];
  for (const media of message.media ?? []) received.push(await receive(media, input, parts));
  const images = received.flatMap(({ image }) => image ?? []).slice(0, IMAGES_MAX);
  const lines = received.map(({ line }) => line);
  const text = [message.text, ...lines].filter((line) => line !== '').join('\n');
  const changed = await runHooks({ text, images }, input, parts);
  return { route, ...(images.length > 0 && { images }), text, ...changed };
}

async function runHooks(
  { text, images }: { text: string; images: readonly ImagePart[] },
  { tenant, channel, message, route }: PrepareInput,
  { hooks }: PrepareParts,
): Promise<{ text?: string; refuse?: string }> {
  if (!hooks.has('message_received')) return {};
  const about: HookAbout = { tenant, agentId: route.agentId, sessionKey: route.sessionKey };
  const event = { text, images, channel, sender: message.sender.id };
  return (await hooks.run('message_received', event, about)) ?? {};
}

/** A file that cannot be received is reported to the model instead. */
async function receive(
  media: InboundMedia,
  input: PrepareInput,
  parts: PrepareParts,
): Promise<Received> {
  const name = nameOf(media, input);
  try {
    const bytes = await download(media, parts);
    const mimeType = imageTypeOf(bytes);
    if (mimeType !== undefined && bytes.length <= IMAGE_BYTES_MAX)
      return { image: { mimeType, data: Buffer.from(bytes).toString('base64') }, line: '' };
    const { path } = await parts.workspace();
    const at = await workspacePath(path, `${RECEIVED_FOLDER}/${name}`);
    await replaceFile(path, at, bytes);
    return { line: `(received the ${media.kind} ${at.shown}, ${bytes.length} bytes)` };
  } catch (error) {
    parts.signal.throwIfAborted();
    const { message } = errorData(error);
    return { line: `(the ${media.kind} ${name} was not received: ${message})` };
  }
}

async function download(media: InboundMedia, { open, signal }: PrepareParts): Promise<Uint8Array> {
  const { adapter, abilities, of } = open;
  const most = Math.min(of.settings.mediaBytesMax, abilities.media?.bytesMax ?? 0);
  if (!adapter.download || most === 0)
    throw new TroupeError('FORBIDDEN', 'this account receives no files');
  if (media.bytes !== undefined && media.bytes > most) throw tooLarge(media.bytes, most);
  const bytes = await adapter.download(media, signal);
  if (bytes.length > most) throw tooLarge(bytes.length, most);
  return bytes;
}

const tooLarge = (bytes: number, most: number): TroupeError =>
  new TroupeError('PAYLOAD_TOO_LARGE', `it has ${bytes} bytes, the limit is ${most}`);

/** Safe as a file name, and unique to the message. */
function nameOf(
  { name = '', kind, mimeType = '' }: InboundMedia,
  { message }: PrepareInput,
): string {
  const given = plainName(name, NAME_CHARACTERS_MAX).replaceAll(/[^\p{L}\p{N}._ -]/gu, '_');
  const extension = mimeType.split('/')[1]?.replaceAll(/[^a-z0-9]/g, '') ?? 'bin';
  const own = given.replace(/^\.+/, '') || `${kind}.${extension}`;
  return `${message.messageId.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(-32)}-${own}`;
}
