/**
 * `chat.startup`, `chat.metadata`, `chat.message.get`, `chat.inject`: what a page reads in addition
 * to the history, and notes that a client adds to it.
 */
import type { Setup } from '../../setup.ts';
import type { SessionWatch } from '../../streams/session-watch.ts';
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
import { type ChatContext, chatHistory } from './chat.ts';
import { type MethodTable, published } from '../method.ts';
import type { Request } from '../request.ts';
import { sessionNamed } from '../../../../operations/sessions/find-session.ts';
import { askSession } from '../sessions/session-settings.ts';
import { commandsList } from '../setup.ts';

/** What a page reads in addition to the history. */
export type PageContext = ChatContext & {
  readonly setup?: Setup | undefined;
  readonly watch: Pick<SessionWatch, 'publishChange'>;
};

/** The metadata, and the newest part of the history that fits the size limit. */
const chatStartup = async (request: Request<PageContext>, params: ChatStartupParams) => ({
  ...(await chatHistory(request, { maxBytes: STARTUP_BYTES, ...params })),
  metadata: chatMetadata(request),
});

const chatMetadata = ({ context }: Request<PageContext>): ChatMetadataResult => ({
  commands: commandsList().commands,
  models: [...(context.setup?.catalogs.models('default') ?? [])],
});

/** One message by its id, complete where the history has truncated it. */
const chatMessageGet = async (
  { context }: Request<PageContext>,
  params: ChatMessageGetParams,
): Promise<ChatMessageGetResult> => {
  const { sessionKey } = sessionNamed(context, params);
  const position = Number(params.messageId);
  if (!Number.isSafeInteger(position) || position < 1) {
    return { ok: false, unavailableReason: 'not_found' };
  }
  const actor = address(context.tenant, 'session', sessionKey);
  const [entry] = await context.system.transcripts.read(actor, { from: position, limit: 1 });
  if (entry?.position !== position) return { ok: false, unavailableReason: 'not_found' };
  const message = isMessage(entry.entry as SessionEntry)
    ? messageOf(entry, params.maxChars ?? HISTORY_TEXT_CHARACTERS_MAX)
    : undefined;
  return message ? { ok: true, message } : { ok: false, unavailableReason: 'not_visible' };
};

/** `messageId` is the position in the transcript. */
const chatInject = async (request: Request<PageContext>, params: ChatInjectParams) => {
  const { context } = request;
  const { sessionKey } = sessionNamed(context, params);
  const { message: text, label } = params;
  await askSession(request, sessionKey, {
    type: 'session.inject',
    text,
    ...(label ? { label } : {}),
  });
  context.watch.publishChange(sessionKey, 'inject');
  const last = await context.system.transcripts.last(
    address(context.tenant, 'session', sessionKey),
  );
  return { ok: true, messageId: String(last) };
};

export const chatMoreTable: MethodTable<PageContext> = [
  published('chat.startup', chatStartup),
  published('chat.metadata', chatMetadata),
  published('chat.message.get', chatMessageGet),
  published('chat.inject', chatInject),
];
