/**
 * Previews: what a chat shows of a run before the reply: that the account types, and the text so
 * far as a message that is edited.
 *
 * Boundary: everything here is ephemeral. The reply that the session commits replaces it.
 */
import { chatKey } from '../../protocols/channel.ts';
import type { EditInput, FollowInput, FollowOutput } from '../../protocols/channel-effects.ts';
import type { Clock, System } from '../../runtime/index.ts';
import { LiveText } from './live-text.ts';
import type { FindAccount, OpenAccount } from './open-account.ts';
import { piecesOf } from './text/pieces.ts';

/** A preview begins with this much text, so that short answers are sent at once and complete. */
const PREVIEW_CHARACTERS_MIN = 80;
const EDIT_EVERY_MS = 1_000;
/** On a line of its own, because the text may end with a fence. */
const MARK = '\n…';

export type PreviewsOptions = {
  readonly account: FindAccount;
  readonly clock: Clock;
  readonly bus: () => Promise<System['bus']>;
};

export class Previews {
  readonly #o: PreviewsOptions;

  constructor(options: PreviewsOptions) {
    this.#o = options;
  }

  /** Shows typing until there is enough text for a preview; without previews, until aborted. */
  async follow(input: FollowInput, signal: AbortSignal): Promise<FollowOutput> {
    const open = await this.#o.account(input);
    const stopTyping = this.#type(open, input, signal);
    try {
      const text = await this.#firstText(open, input, signal);
      return text === undefined ? {} : { text };
    } finally {
      stopTyping();
    }
  }

  async #firstText(
    open: OpenAccount,
    input: FollowInput,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const live = new LiveText(await this.#o.bus(), input);
    try {
      while (!signal.aborted && !live.isOver) {
        if (open.showsPreviews && live.text.length >= PREVIEW_CHARACTERS_MIN)
          return firstPiece(open, live.text);
        await live.changed(signal);
      }
      return undefined;
    } finally {
      live.close();
    }
  }

  /** Returns the function that ends it. */
  #type({ adapter, abilities }: OpenAccount, { chat }: FollowInput, signal: AbortSignal) {
    const { typingEveryMs } = abilities;
    if (typingEveryMs === undefined || !adapter.typing) return () => {};
    let cancel = () => {};
    const again = () => {
      void adapter.typing!(chat, signal).catch(() => {});
      cancel = this.#o.clock.after(typingEveryMs, again);
    };
    again();
    return () => cancel();
  }

  /**
   * Shows typing and edits the preview, with the newest text, until the run ends or the signal is
   * aborted.
   */
  async edit(input: EditInput, signal: AbortSignal): Promise<null> {
    const open = await this.#o.account(input);
    const live = new LiveText(await this.#o.bus(), input);
    const stopTyping = this.#type(open, input, signal);
    let shown = '';
    try {
      while (!signal.aborted && !live.isOver) {
        const text = firstPiece(open, live.text);
        if (text !== shown && text.length >= PREVIEW_CHARACTERS_MIN) {
          shown = text;
          await this.#editOnce(open, input, text, signal);
          await this.#pause(signal);
        } else await live.changed(signal);
      }
      return null;
    } finally {
      stopTyping();
      live.close();
    }
  }

  /** An edit that fails is followed by the next one, and by the reply. */
  #editOnce(open: OpenAccount, input: EditInput, markdown: string, signal: AbortSignal) {
    const [piece] = piecesOf(markdown, { ...open.abilities, piecesMax: 1 });
    const { chat, messageId, runId } = input;
    return open.lanes.run(chatKey(input), async () => {
      if (signal.aborted) return;
      await open.adapter.edit!(
        messageId,
        {
          id: `${runId}:preview`,
          chat,
          text: piece!.text,
          plain: piece!.plain,
          attempt: 1,
          firstTriedAt: 0,
        },
        signal,
      );
    });
  }

  #pause(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#o.clock.after(EDIT_EVERY_MS, resolve);
      signal.addEventListener('abort', () => (cancel(), resolve()), { once: true });
    });
  }
}

/**
 * The part of the answer that fits into one message, marked as unfinished: a kill while it is sent
 * may leave it beside the reply.
 */
function firstPiece({ abilities }: OpenAccount, markdown: string): string {
  const charactersMax = abilities.charactersMax - MARK.length;
  const [piece] = piecesOf(markdown, { ...abilities, charactersMax, piecesMax: 1 });
  return `${piece?.markdown ?? ''}${MARK}`;
}
