/**
 * Long polling of the Bot API.
 *
 * Invariants:
 *  1. `getUpdates` with a higher offset is the acknowledgement. It is sent only after the messages
 *     and the position of everything before it are stored.
 *  2. A position without updates for `POSITION_MS_MAX` is not used: after a week without updates
 *     the ids start again at random, and a higher offset would hide every later update.
 *  3. Another program that polls ends the wait of this one, which cannot know which of them is
 *     newer. Therefore only repeated conflicts are final: the former owner of a moved account
 *     stops within seconds.
 */
import type { Api } from 'grammy';
import type { Update } from 'grammy/types';
import type { InboundMessage } from '../../../protocols/channel.ts';
import type { Clock } from '../../../runtime/index.ts';
import type { Connection } from '../adapter.ts';
import { pause } from '../pause.ts';
import { apiSignal } from './client.ts';
import { isConflict } from './failures.ts';
import { ALLOWED_UPDATES } from './inbound.ts';

/** The next update to receive, and when it was stored, epoch milliseconds. */
export type Position = { readonly offset: number; readonly at: number };

const POSITION_MS_MAX = 6 * 24 * 3_600_000;
const BATCH_MAX = 100;
const CONFLICTS_MAX = 5;
const CONFLICT_PAUSE_MS = 3_000;

export type Polling = {
  readonly api: Api;
  readonly clock: Clock;
  readonly connection: Connection;
  readonly signal: AbortSignal;
  /** how long Telegram waits for an update, seconds */
  readonly waitSeconds: number;
  readonly conflictPauseMs?: number;
  readonly inboundOf: (update: Update) => InboundMessage | undefined;
  readonly onMessages: (messages: readonly InboundMessage[]) => Promise<void>;
  /** Telegram answered */
  readonly onAnswer: () => void;
};

/** Receives until it throws: the signal's reason, an error of grammY, or one of `onMessages`. */
export async function poll(polling: Polling, start: Position): Promise<never> {
  let position = start;
  let conflicts = 0;
  for (;;) {
    try {
      const updates = await nextUpdates(polling, position);
      conflicts = 0;
      polling.onAnswer();
      if (updates.length > 0) position = await store(polling, updates);
    } catch (error) {
      if (!isConflict(error) || ++conflicts >= CONFLICTS_MAX) throw error;
      await pause(polling.clock, polling.conflictPauseMs ?? CONFLICT_PAUSE_MS, polling.signal);
    }
  }
}

/**
 * The position after every update that exists, so that a new account starts with the next message.
 */
export async function latestPosition(
  api: Api,
  clock: Clock,
  signal: AbortSignal,
): Promise<Position> {
  const [last] = await api.getUpdates({ offset: -1, timeout: 0 }, apiSignal(signal));
  return { offset: last ? last.update_id + 1 : 0, at: clock.wallMs() };
}

export const isPosition = (value: unknown): value is Position =>
  typeof value === 'object' &&
  value !== null &&
  Number.isSafeInteger((value as Position).offset) &&
  typeof (value as Position).at === 'number';

function nextUpdates({ api, clock, signal, waitSeconds }: Polling, { offset, at }: Position) {
  const isUsable = clock.wallMs() - at < POSITION_MS_MAX;
  return api.getUpdates(
    {
      ...(isUsable ? { offset } : {}),
      timeout: waitSeconds,
      limit: BATCH_MAX,
      allowed_updates: ALLOWED_UPDATES,
    },
    apiSignal(signal),
  );
}

async function store(polling: Polling, updates: readonly Update[]): Promise<Position> {
  const messages = updates.flatMap((update) => polling.inboundOf(update) ?? []);
  if (messages.length > 0) await polling.onMessages(messages);
  const offset = Math.max(...updates.map((update) => update.update_id)) + 1;
  const position = { offset, at: polling.clock.wallMs() };
  await polling.connection.onPosition(position);
  return position;
}
