/** Translates a message of WhatsApp into a message of troupe. */
import type { Content, ContextInfo, Key, Part, WebMessage } from 'baileys';
import { idOf, isGroup, isLid, isPerson, plainJid } from './jids.ts';
import type { Received } from './inbox.ts';

type Message = Received[number];
type Media = NonNullable<Message['media']>[number];

const CHARACTERS_MAX = 65_536;
const NAME_MAX = 512;
const MEDIA_ID_MAX = 2_048;

/** Messages that only wrap another one. */
const WRAPPERS = [
  'ephemeralMessage',
  'viewOnceMessage',
  'viewOnceMessageV2',
  'documentWithCaptionMessage',
] as const;

/** The kind of a file for troupe, and its type for Baileys. */
const FILES = {
  imageMessage: ['image', 'image'],
  stickerMessage: ['image', 'sticker'],
  videoMessage: ['video', 'video'],
  audioMessage: ['audio', 'audio'],
  documentMessage: ['file', 'document'],
} as const;

/** What a file needs to be downloaded: `InboundMedia.id` is its JSON. */
export type FileRef = { readonly type: string; readonly key: string; readonly path: string };

export type Reader = {
  /** JIDs of this account, without devices */
  readonly own: ReadonlySet<string>;
  /** The JID with the phone number of a LID, if it is known. */
  readonly phoneOf: (lid: string) => Promise<string | undefined>;
};

/** Undefined: own messages, changes of groups, channels, status posts, unknown contents. */
export async function inboundOf(
  { key, message, pushName, messageTimestamp }: WebMessage,
  reader: Reader,
): Promise<Message | undefined> {
  const { remoteJid, id, fromMe } = key;
  if (!remoteJid || !id || fromMe || !(isGroup(remoteJid) || isPerson(remoteJid))) return undefined;
  const content = unwrapped(message ?? {});
  const what = reactionOf(content) ?? wordsOf(content, reader);
  if (what === undefined) return undefined;
  const sender = await senderOf(key, reader);
  if (sender === undefined) return undefined;
  const chat = isGroup(remoteJid)
    ? ({ kind: 'group', id: idOf(remoteJid) } as const)
    : ({ kind: 'dm', id: sender } as const);
  const sentAt = numberOf(messageTimestamp) * 1_000;
  return {
    key: `${chat.id}/${sender}/${id}`.slice(0, 200),
    messageId: id.slice(0, 512),
    chat,
    sender: { id: sender, ...(pushName ? { name: pushName.slice(0, NAME_MAX) } : {}) },
    ...what,
    ...(sentAt > 0 ? { sentAt } : {}),
  };
}

type Words = Pick<Message, 'kind' | 'text' | 'mentionsAccount' | 'media' | 'replyTo'>;

function unwrapped(content: Content): Content {
  for (const name of WRAPPERS) {
    const inner = content[name]?.message;
    if (inner) return unwrapped(inner);
  }
  return content;
}

/** A reaction without a text takes an earlier one back. */
function reactionOf({ reactionMessage }: Content): Words | undefined {
  const target = reactionMessage?.key?.id;
  if (!reactionMessage?.text || !target) return undefined;
  const { text } = reactionMessage;
  return { kind: 'reaction', text, mentionsAccount: false, replyTo: target };
}

function wordsOf(content: Content, { own }: Reader): Words | undefined {
  const [name, part] = partOf(content);
  const text = (content.conversation ?? part.text ?? part.caption ?? '').slice(0, CHARACTERS_MAX);
  const media = name === undefined ? undefined : mediaOf(name, part);
  if (text === '' && media === undefined) return undefined;
  const about: ContextInfo = part.contextInfo ?? {};
  const { stanzaId: replyTo } = about;
  const named = [...(about.mentionedJid ?? []), ...(replyTo ? [about.participant ?? ''] : [])];
  return {
    kind: 'message',
    text,
    mentionsAccount: named.some((jid) => own.has(plainJid(jid))),
    ...(media ? { media: [media] } : {}),
    ...(replyTo ? { replyTo: replyTo.slice(0, 512) } : {}),
  };
}

type FileName = keyof typeof FILES;

function partOf(content: Content): readonly [FileName | undefined, Part] {
  for (const name of Object.keys(FILES) as FileName[]) {
    const part = content[name];
    if (part) return [name, part];
  }
  return [undefined, content.extendedTextMessage ?? {}];
}

function mediaOf(name: FileName, part: Part): Media | undefined {
  const { mediaKey, directPath, mimetype, fileName, fileLength } = part;
  if (!mediaKey || !directPath) return undefined;
  const [kind, type] = FILES[name];
  const key = Buffer.from(mediaKey).toString('base64');
  const id = JSON.stringify({ type, key, path: directPath } satisfies FileRef);
  if (id.length > MEDIA_ID_MAX) return undefined;
  const bytes = numberOf(fileLength);
  return {
    kind,
    id,
    ...(fileName ? { name: fileName.slice(0, NAME_MAX) } : {}),
    ...(mimetype ? { mimeType: mimetype.slice(0, 128) } : {}),
    ...(Number.isSafeInteger(bytes) && bytes > 0 ? { bytes } : {}),
  };
}

async function senderOf(key: Key, { phoneOf }: Reader): Promise<string | undefined> {
  const [jid, other] = isGroup(key.remoteJid ?? '')
    ? [key.participant, key.participantAlt]
    : [key.remoteJid, key.remoteJidAlt];
  if (!jid || !isPerson(jid)) return undefined;
  if (!isLid(jid)) return idOf(jid);
  const phone = other && isPerson(other) && !isLid(other) ? other : await phoneOf(plainJid(jid));
  return idOf(phone ?? jid);
}

/** A number of protobuf, which may be a `Long`; NaN without one. */
const numberOf = (value: number | string | object | null | undefined): number =>
  typeof value === 'object' && value !== null ? Number(value) : Number(value ?? Number.NaN);
