/**
 * Whether a piece was posted: each message has its piece's id in its metadata, and the history of
 * the channel or thread contains the metadata.
 */
import type { WebClient } from '@slack/web-api';
import type { SendOutcome } from '../../../protocols/channel.ts';
import type { PieceRef } from '../adapter.ts';
import { notSent, sent, unknownOutcome } from '../outcomes.ts';

const EVENT_TYPE = 'troupe_piece';
/** How far the clock of Slack may be behind. */
const SKEW_MS = 120_000;
const PAGE = 200;
const PAGES_MAX = 5;

export const markerOf = ({ id }: PieceRef) => ({
  event_type: EVENT_TYPE,
  event_payload: { id },
});

type Posted = {
  readonly ts?: string;
  readonly user?: string;
  /** the message of a file has no metadata */
  readonly files?: readonly unknown[];
  readonly metadata?: {
    readonly event_type?: string;
    readonly event_payload?: Record<string, unknown>;
  };
};
type Page = {
  readonly messages?: readonly Posted[];
  readonly has_more?: boolean;
  readonly response_metadata?: { readonly next_cursor?: string };
};

/**
 * `not_sent` only if the complete history since the first attempt is readable, with the metadata of
 * every text of this app. @param bot user id of the app. @throws errors of the SDK
 */
export async function findPiece(
  client: WebClient,
  bot: string,
  piece: PieceRef,
): Promise<SendOutcome> {
  let cursor: string | undefined;
  for (let count = 0; count < PAGES_MAX; count += 1) {
    const page = await read(client, piece, cursor);
    const own = (page.messages ?? []).filter(({ user }) => user === bot);
    const found = own.find((message) => isMarked(message, piece.id));
    if (found !== undefined) return sent(found.ts);
    if (own.some(({ metadata, files }) => metadata?.event_type === undefined && !files?.length))
      return unknownOutcome(`the history has messages of this app without metadata; ${READ_SCOPE}`);
    cursor = page.response_metadata?.next_cursor || undefined;
    if (cursor === undefined) return notSent(ABSENT);
  }
  return unknownOutcome(`the last ${PAGE * PAGES_MAX} messages do not contain the piece`);
}

const ABSENT = { code: 'UNAVAILABLE', message: 'Slack has not posted the message' } as const;
const READ_SCOPE = 'add the scope metadata.message:read in “OAuth & Permissions” of the app';

const isMarked = ({ metadata }: Posted, id: string): boolean =>
  metadata?.event_type === EVENT_TYPE && metadata.event_payload?.['id'] === id;

async function read(
  client: WebClient,
  { chat, firstTriedAt }: PieceRef,
  cursor: string | undefined,
): Promise<Page> {
  const range = {
    channel: chat.id,
    oldest: String((firstTriedAt - SKEW_MS) / 1000),
    limit: PAGE,
    include_all_metadata: true,
    ...(cursor === undefined ? {} : { cursor }),
  };
  return chat.thread === undefined
    ? client.conversations.history(range)
    : client.conversations.replies({ ...range, ts: chat.thread });
}
