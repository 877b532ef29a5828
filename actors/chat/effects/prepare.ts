/**
 * prepare: commands are executed, the hooks of an inbound message run and may choose its agent,
 * images become part of the message, and other files are stored in the agent's workspace.
 * `repeatable`.
 *
 * Invariant: a file that cannot be received is named in the text with the reason; the text is never
 * lost.
 */
import { type AgentServices, servicesOf } from '../../../agent/services.ts';
import type { HookAbout } from '../../../agent/hooks/hooks.ts';
import { routeByHook } from '../../../agent/hooks/route-message.ts';
import { isKnownAgent } from '../../../agent/known-agent.ts';
import { workspacePath } from '../../../agent/tools/files/paths.ts';
import { replaceFile } from '../../../agent/tools/files/replace-file.ts';
import { address } from '../../../protocols/address.ts';
import type { InboundMedia, Route } from '../../../protocols/channel.ts';
import type { PrepareInput, PrepareOutput } from '../../../protocols/channel-effects.ts';
import {
  IMAGE_BYTES_MAX,
  IMAGES_MAX,
  type ImagePart,
  imageTypeOf,
} from '../../../protocols/content.ts';
import { errorData } from '../../../protocols/errors.ts';
import { plainName } from '../../../protocols/plain-text.ts';
import type { EffectContext, EffectDefinition } from '../../../runtime/index.ts';
import { channelsOf } from './channel-services.ts';

const TIMEOUT_MS = 300_000;
/** Folder in the agent's workspace, and the longest file name there. */
const RECEIVED_FOLDER = 'received';
const NAME_CHARACTERS_MAX = 80;

type Received = { readonly image?: ImagePart; readonly line: string };

export const prepare: EffectDefinition<PrepareInput, PrepareOutput> = {
  class: 'repeatable',
  timeoutMs: TIMEOUT_MS,
  async run(given, context) {
    const route = await routeOf(given, context);
    const input = { ...given, route };
    const { message } = input;
    const hasFiles = (message.media ?? []).length > 0;
    const answer = hasFiles ? undefined : await commandOf(input, context);
    if (answer !== undefined) return { route, text: '', refuse: answer };
    const received: Received[] = [];
    for (const media of message.media ?? []) received.push(await receive(media, input, context));
    const images = received.flatMap(({ image }) => image ?? []).slice(0, IMAGES_MAX);
    const lines = [message.text, ...received.map(({ line }) => line)];
    const text = lines.filter((line) => line !== '').join('\n');
    const changed = await runHooks({ text, images }, input, servicesOf(context));
    return { route, ...(images.length > 0 && { images }), text, ...changed };
  },
};

const commandOf = (input: PrepareInput, context: EffectContext): Promise<string | undefined> => {
  const { tenant, channel, message, route } = input;
  const { hooks } = servicesOf(context);
  const about = { tenant, agentId: route.agentId, sessionKey: route.sessionKey };
  const sender = `${channel}:${message.sender.id}`;
  return channelsOf(context).command(input, async (command) =>
    hooks.has('command') ? hooks.run('command', { ...command, sender }, about) : undefined,
  );
};

/** Files are stored in the workspace of the agent, so its choice comes first. */
const routeOf = (input: PrepareInput, context: EffectContext): Promise<Route> => {
  const { hooks, talk } = servicesOf(context);
  const { tenant } = input;
  return routeByHook(hooks, input, async (id) =>
    isKnownAgent(await context.index(), id, { talk, tenant }),
  );
};

async function runHooks(
  { text, images }: { readonly text: string; readonly images: readonly ImagePart[] },
  { tenant, channel, account, message, route }: PrepareInput,
  { hooks }: Pick<AgentServices, 'hooks'>,
): Promise<{ text?: string; refuse?: string }> {
  if (!hooks.has('message_received')) return {};
  const about: HookAbout = { tenant, agentId: route.agentId, sessionKey: route.sessionKey };
  const event = { text, images, channel, account, sender: message.sender.id };
  return (await hooks.run('message_received', event, about)) ?? {};
}

/** A file that cannot be received is reported to the model instead. */
async function receive(
  media: InboundMedia,
  input: PrepareInput,
  context: EffectContext,
): Promise<Received> {
  const name = nameOf(media, input);
  try {
    const bytes = await channelsOf(context).download(input, media, context.signal);
    const mimeType = imageTypeOf(bytes);
    if (mimeType !== undefined && bytes.length <= IMAGE_BYTES_MAX)
      return { image: { mimeType, data: Buffer.from(bytes).toString('base64') }, line: '' };
    const shown = await store(bytes, name, input, context);
    return { line: `(received the ${media.kind} ${shown}, ${bytes.length} bytes)` };
  } catch (error) {
    context.signal.throwIfAborted();
    return { line: `(the ${media.kind} ${name} was not received: ${errorData(error).message})` };
  }
}

/** Returns the path in the workspace of the agent that gets the message. */
async function store(
  bytes: Uint8Array,
  name: string,
  { tenant, route }: PrepareInput,
  context: EffectContext,
): Promise<string> {
  const { path } = await context.workspace(address(tenant, 'agent', route.agentId));
  const at = await workspacePath(path, `${RECEIVED_FOLDER}/${name}`);
  await replaceFile(path, at, bytes);
  return at.shown;
}

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
