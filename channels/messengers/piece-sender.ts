/**
 * PieceSender: cuts a delivery into pieces in the channel's dialect, followed by its files, and
 * sends one of them.
 *
 * Invariant: whatever goes wrong, the outcome says whether the service may have accepted the piece.
 */
import type { SendInput, SendOutput } from '../../protocols/channel-effects.ts';
import {
  type AccountRef,
  accountKey,
  chatKey,
  pieceIdOf,
  type SendOutcome,
} from '../../protocols/channel.ts';
import type { FilePart } from '../../protocols/content.ts';
import { defined } from '../../protocols/defined.ts';
import { errorData, ERRORS } from '../../protocols/errors.ts';
import { type Artifacts, type Clock, LruMap } from '../../runtime/index.ts';
import type { Abilities, Piece, PieceRef } from './adapter.ts';
import type { OpenAccount } from './open-account.ts';
import { piecesOf } from './text/pieces.ts';

type Pieces = ReturnType<typeof piecesOf>;

/** What sending needs of an account. */
type SendingAccount = Pick<OpenAccount, 'abilities' | 'adapter' | 'lanes' | 'observed'>;

export type PieceSenderOptions = {
  readonly account: (of: AccountRef) => Promise<SendingAccount>;
  /** the contents of files */
  readonly files: Promise<Pick<Artifacts, 'get'>>;
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
    let open: SendingAccount;
    try {
      open = await this.#o.account(input);
    } catch (error) {
      return { status: 'not_sent', error: errorData(error), isFinal: true };
    }
    const { pieces, text, file } = this.#find(input, open);
    // The delivery had no further piece; its sender did not know.
    if (!text && !file) return { status: 'sent', pieces };
    const ref = refOf(input);
    const outcome = await open.lanes.run(chatKey(input), () =>
      text
        ? sendOrEdit(open, input, { ...ref, text: text.text, plain: text.plain }, signal)
        : this.#sendFile(open, input, file!, signal),
    );
    if (outcome.status === 'sent') open.observed.outbound();
    else open.observed.error(outcome.error.message);
    return { ...outcome, pieces, restMs: open.abilities.pace.ofChatMs };
  }

  /** The piece of `input.piece`: text or a file; neither when there is no such piece. */
  #find(
    input: SendInput,
    { abilities }: SendingAccount,
  ): { pieces: number; text?: Pieces[number]; file?: FilePart } {
    const texts = this.#piecesOf(input, abilities);
    const { files = [], piece } = input;
    const pieces = texts.length + files.length;
    const file = files[piece - texts.length];
    const notice = file && noticeFor(file, abilities);
    if (notice === undefined) return { pieces, ...defined({ text: texts[piece], file }) };
    return { pieces, ...defined({ text: piecesOf(notice, abilities)[0] }) };
  }

  async #sendFile(
    { adapter }: SendingAccount,
    input: SendInput,
    { name, contentType, hash }: FilePart,
    signal: AbortSignal,
  ): Promise<SendOutcome> {
    let contents: Uint8Array;
    try {
      ({ contents } = await (await this.#o.files).get(input.tenant, hash));
    } catch (error) {
      const { code, message, ...rest } = errorData(error);
      const why = { ...rest, code, message: `the file ${name} cannot be read: ${message}` };
      return { status: 'not_sent', error: why, ...(!ERRORS[code].retriable && { isFinal: true }) };
    }
    const file = { name, contentType, contents };
    return adapter.sendFile!({ ...refOf(input), file }, signal);
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
    const { text, file } = this.#find(input, open);
    if (!text && !file) return { status: 'sent' };
    const repeat = notKnown('the same piece is sent again, which the service recognizes');
    // An edit has the same effect however often it happens.
    if (text && input.editOf !== undefined) return { ...repeat, status: 'not_sent' };
    const age = this.#o.clock.wallMs() - input.firstTriedAt;
    if (age < (open.abilities.idempotentSendMs ?? 0)) return { ...repeat, status: 'not_sent' };
    return (
      (await this.#found(open, input, text, signal)) ?? {
        status: 'unknown',
        ...(open.abilities.provesOutcomes
          ? notKnown('no status has arrived', PROOF_PAUSE_MS)
          : notKnown('the service has no way to find out')),
      }
    );
  }

  /** undefined: the adapter cannot find out. */
  async #found(
    { adapter, abilities }: SendingAccount,
    input: SendInput,
    piece: Pieces[number] | undefined,
    signal: AbortSignal,
  ): Promise<SendOutcome | undefined> {
    if (!piece && !abilities.files?.reconcile) return undefined;
    const { text, plain } = piece ?? { text: '', plain: '' };
    return adapter.reconcile?.({ ...refOf(input), text, plain }, signal);
  }
}

/** Why a file cannot be sent in this channel, for the person who waits for it. */
function noticeFor({ name, bytes, contentType }: FilePart, abilities: Abilities) {
  const { files } = abilities;
  const shown = `\`${name.replaceAll('`', "'")}\` (${sizeOf(bytes)})`;
  if (!files) return `The file ${shown} was not sent: no files can be sent here.`;
  if (bytes > files.bytesMax)
    return `The file ${shown} was not sent: at most ${sizeOf(files.bytesMax)} can be sent here.`;
  if (files.accepts?.(contentType) === false)
    return `The file ${shown} was not sent: files of its type (${contentType}) cannot be sent here.`;
  return undefined;
}

const sizeOf = (bytes: number): string =>
  bytes < 1024 * 1024
    ? `${Math.ceil(bytes / 1024)} KiB`
    : `${Math.round((bytes * 10) / 1024 / 1024) / 10} MiB`;

const refOf = (input: SendInput): PieceRef => ({
  id: pieceIdOf(input),
  chat: input.chat,
  attempt: input.attempt,
  firstTriedAt: input.firstTriedAt,
  ...defined({ replyTo: input.replyTo }),
});

/** Between two checks whether a status has arrived. */
const PROOF_PAUSE_MS = 20_000;

const notKnown = (message: string, retryAfterMs?: number) => ({
  error: { code: 'UNAVAILABLE', message, ...defined({ retryAfterMs }) } as const,
});

/** A preview that can no longer be edited is left, and the piece is sent as a message. */
async function sendOrEdit(
  { adapter }: SendingAccount,
  { editOf }: SendInput,
  piece: Piece,
  signal: AbortSignal,
): Promise<SendOutcome> {
  if (editOf === undefined || !adapter.edit) return adapter.send(piece, signal);
  const edited = await adapter.edit(editOf, piece, signal);
  const isRefused = edited.status === 'not_sent' && edited.isFinal === true;
  return isRefused ? adapter.send(piece, signal) : edited;
}
