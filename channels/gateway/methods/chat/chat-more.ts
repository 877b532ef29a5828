/**
 * `chat.startup`, `chat.metadata`, `chat.message.get`, `chat.inject`: what a page asks beside the
 * history, and a note that somebody puts into it.
 */
import { address } from '../../../../protocols/address.ts';
import type {
  ChatInjectParams,
  ChatMessageGetParams,
  ChatMessageGetResult,
  ChatMetadataResult,
  ChatStartupParams,
} from '../../../../protocols/gateway/index.ts';
import type { SessionEntry } from '../../../../protocols/session.ts';
import { HISTORY_TEXT_CHARACTERS_MAX, STARTUP_BYTES } from '../../limits.ts';
import { isMessage } from '../../sessions/message-counts.ts';
import { messageOf } from '../../sessions/transcript.ts';
import { chatHistory } from './chat.ts';
import { type MethodTable, published } from '../method.ts';
import type { Request } from '../request.ts';
import { sessionNamed } from '../sessions/session-row.ts';
import { ask } from '../sessions/session-settings.ts';
import { commandsList } from '../setup.ts';

/** The history, but no more of it than fits, and the metadata. */
const chatStartup = async (request: Request, params: ChatStartupParams) => ({
  ...(await chatHistory(request, { maxBytes: STARTUP_BYTES, ...params })),
  metadata: chatMetadata(request),
});

const chatMetadata = ({ door }: Request): ChatMetadataResult => ({
  commands: commandsList().commands,
  models: [...(door.setup?.catalogs.models('default') ?? [])],
});

/** One message by its id, whole where the history has cut it. */
const chatMessageGet = async (
  { door }: Request,
  params: ChatMessageGetParams,
): Promise<ChatMessageGetResult> => {
  const { sessionKey } = sessionNamed(door, params);
  const position = Number(params.messageId);
  if (!Number.isSafeInteger(position) || position < 1) {
    return { ok: false, unavailableReason: 'not_found' };
  }
  const actor = address(door.tenant, 'session', sessionKey);
  const [entry] = await door.system.transcripts.read(actor, { from: position, limit: 1 });
  if (entry?.position !== position) return { ok: false, unavailableReason: 'not_found' };
  const message = isMessage(entry.entry as SessionEntry)
    ? messageOf(entry, params.maxChars ?? HISTORY_TEXT_CHARACTERS_MAX)
    : undefined;
  return message ? { ok: true, message } : { ok: false, unavailableReason: 'not_visible' };
};

/** `messageId` is its place in the transcript. */
const chatInject = async (request: Request, params: ChatInjectParams) => {
  const { door } = request;
  const { sessionKey } = sessionNamed(door, params);
  const { message: text, label } = params;
  await ask(request, sessionKey, {
    type: 'session.inject',
    text,
    ...(label ? { label } : {}),
  });
  door.watch.changed(sessionKey, 'inject');
  const last = await door.system.transcripts.last(address(door.tenant, 'session', sessionKey));
  return { ok: true, messageId: String(last) };
};

export const chatMoreTable: MethodTable = [
  published('chat.startup', chatStartup),
  published('chat.metadata', chatMetadata),
  published('chat.message.get', chatMessageGet),
  published('chat.inject', chatInject),
];
