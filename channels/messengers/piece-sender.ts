/**
 * PieceSender: cuts a delivery into pieces in the channel's dialect, and sends one of them.
 *
 * Invariant: whatever goes wrong, the outcome says whether the service may have accepted the piece.
 */
import type { SendInput, SendOutput } from '../../protocols/channel-effects.ts';
import { accountKey, pieceIdOf, type SendOutcome } from '../../protocols/channel.ts';
import { defined } from '../../protocols/defined.ts';
import { errorData } from '../../protocols/errors.ts';
import { type Clock, LruMap } from '../../runtime/index.ts';
import type { Abilities, Piece } from './adapter.ts';
import type { FindAccount, OpenAccount } from './open-account.ts';
import { piecesOf } from './text/pieces.ts';

type Pieces = ReturnType<typeof piecesOf>;

export type PieceSenderOptions = {
  readonly account: FindAccount;
  readonly clock: Clock;
};

/** Replies whose pieces are kept, up to 1.5 MB each; another one is cut for each piece. */
const CUT_MAX = 8;

export class PieceSender {
  readonly #o: PieceSenderOptions;
  /** by delivery: cutting a reply again for each of its pieces would take quadratic time */
  readonly #cut = new LruMap<string, { readonly text: string; readonly pieces: Pieces }>(CUT_MAX);

  constructor(options: PieceSenderOptions) {
    this.#o = options;
  }

  async send(input: SendInput, signal: AbortSignal): Promise<SendOutput> {
    let open: OpenAccount;
    try {
      open = await this.#o.account(input);
    } catch (error) {
      return { status: 'not_sent', error: errorData(error), isFinal: true };
    }
    const { piece, pieces } = this.#pieceOf(input, open);
    // The delivery had no further piece; its sender did not know.
    if (!piece) return { status: 'sent', pieces };
    const outcome = await open.lanes.run(chatKey(input), () =>
      sendOrEdit(open, input, piece, signal),
    );
    if (outcome.status === 'sent') open.observed.outbound();
    else open.observed.error(outcome.error.message);
    return { ...outcome, pieces, restMs: open.abilities.pace.ofChatMs };
  }

  #pieceOf(input: SendInput, { abilities }: OpenAccount) {
    const pieces = this.#piecesOf(input, abilities);
    const found = pieces[input.piece];
    const piece: Piece | undefined = found && {
      id: pieceIdOf(input),
      chat: input.chat,
      text: found.text,
      plain: found.plain,
      attempt: input.attempt,
      firstTriedAt: input.firstTriedAt,
      ...(input.replyTo === undefined ? {} : { replyTo: input.replyTo }),
    };
    return { piece, pieces: pieces.length };
  }

  #piecesOf(input: SendInput, { dialect, charactersMax }: Abilities): Pieces {
    const key = `${accountKey(input)}\n${chatKey(input)}\n${input.id}`;
    const known = this.#cut.get(key);
    if (known?.text === input.text) return known.pieces;
    const pieces = piecesOf(input.text, { dialect, charactersMax });
    if (pieces.length > 1) this.#cut.set(key, { text: input.text, pieces });
    return pieces;
  }

  async reconcile(input: SendInput, signal: AbortSignal): Promise<SendOutcome> {
    const open = await this.#o.account(input);
    const { piece } = this.#pieceOf(input, open);
    if (!piece) return { status: 'sent' };
    const repeat = notKnown('the same piece is sent again, which the service recognizes');
    // An edit has the same effect however often it happens.
    if (input.editOf !== undefined) return { ...repeat, status: 'not_sent' };
    const age = this.#o.clock.wallMs() - input.firstTriedAt;
    if (age < (open.abilities.idempotentSendMs ?? 0)) return { ...repeat, status: 'not_sent' };
    return (
      (await open.adapter.reconcile?.(piece, signal)) ?? {
        status: 'unknown',
        ...(open.abilities.provesOutcomes
          ? notKnown('no status has arrived', PROOF_PAUSE_MS)
          : notKnown('the service has no way to find out')),
      }
    );
  }
}

/** Between two checks whether a status has arrived. */
const PROOF_PAUSE_MS = 20_000;

const notKnown = (message: string, retryAfterMs?: number) => ({
  error: { code: 'UNAVAILABLE', message, ...defined({ retryAfterMs }) } as const,
});

/** A preview that can no longer be edited is left, and the piece is sent as a message. */
async function sendOrEdit(
  { adapter }: OpenAccount,
  { editOf }: SendInput,
  piece: Piece,
  signal: AbortSignal,
): Promise<SendOutcome> {
  if (editOf === undefined || !adapter.edit) return adapter.send(piece, signal);
  const edited = await adapter.edit(editOf, piece, signal);
  const isRefused = edited.status === 'not_sent' && edited.isFinal === true;
  return isRefused ? adapter.send(piece, signal) : edited;
}

export const chatKey = ({ chat }: Pick<SendInput, 'chat'>): string =>
  `${chat.id}\n${chat.thread ?? ''}`;
