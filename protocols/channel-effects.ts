/** What the actors of channels and chats request from the process that has the connections. */
import type {
  AccountRef,
  ChatRef,
  ConnectInput,
  ConnectOutput,
  InboundMedia,
  InboundMessage,
  PositionRow,
  Route,
  SendOutcome,
} from './channel.ts';
import type { FilePart, ImagePart } from './content.ts';

type Where = AccountRef & { readonly tenant: string; readonly chat: ChatRef };

/** Runs hooks and downloads media. */
export type PrepareInput = Where & { readonly message: InboundMessage; readonly route: Route };
export type PrepareOutput = {
  readonly text: string;
  readonly images?: readonly ImagePart[];
  readonly route: Route;
  /**
   * the message does not go to the session, and the sender receives this text: the answer of a
   * command, or why a hook refused it; '' sends nothing
   */
  readonly refuse?: string;
};

/** Called before a command is executed; a returned reply is appended to the answer. */
export type BeforeCommand = (command: {
  readonly name: string;
  readonly args: string;
}) => Promise<{ readonly reply?: string } | undefined>;

/** Sends one piece of a delivery, or its preview. */
export type SendInput = Where & {
  readonly id: string;
  readonly text: string;
  /** their pieces follow those of the text */
  readonly files?: readonly FilePart[];
  readonly piece: number;
  readonly attempt: number;
  readonly firstTriedAt: number;
  readonly replyTo?: string;
  readonly editOf?: string;
};
/**
 * `pieces`: number of pieces of the text and the files, where it is known. `restMs`: the service
 * takes no other message in this chat for so long.
 */
export type SendOutput = SendOutcome & { readonly pieces?: number; readonly restMs?: number };

/** Runs the hook `message_sent` for a delivery that has ended. */
export type ReportInput = AccountRef & {
  readonly tenant: string;
  readonly text: string;
  readonly files?: readonly FilePart[];
  readonly outcome: SendOutcome['status'];
  /** why it was not sent, or is not known to be */
  readonly error?: string;
  /** of the run whose text it was */
  readonly runId?: string;
  readonly sessionKey?: string;
};

/** Shows that the account types until the run has text to preview, or has ended. */
export type FollowInput = Where & { readonly runId: string; readonly sessionKey: string };
/** `text`: what to send as the preview; absent: nothing, the channel shows no previews. */
export type FollowOutput = { readonly text?: string };

/** Shows that the account types, and edits the preview while the model writes. */
export type EditInput = FollowInput & { readonly messageId: string };

export interface ChannelEffects {
  /** Ends with the connection. */
  connect(
    of: ConnectInput,
    from: PositionRow | undefined,
    signal: AbortSignal,
  ): Promise<ConnectOutput>;
  /**
   * @throws TroupeError PAYLOAD_TOO_LARGE, FORBIDDEN (the account receives no files), UNAVAILABLE
   */
  download(of: AccountRef, media: InboundMedia, signal: AbortSignal): Promise<Uint8Array>;
  /**
   * Executes a command such as `/new`, and returns the answer; undefined: the text is no command.
   * Repeatable: the message's key identifies the command. Never throws.
   */
  command(input: PrepareInput, before: BeforeCommand): Promise<string | undefined>;
  /** One request to the service. Never throws. */
  send(input: SendInput, signal: AbortSignal): Promise<SendOutput>;
  /** What happened to a piece whose outcome is unknown. `not_sent`: it may be sent again. */
  reconcile(input: SendInput, signal: AbortSignal): Promise<SendOutcome>;
  follow(input: FollowInput, signal: AbortSignal): Promise<FollowOutput>;
  edit(input: EditInput, signal: AbortSignal): Promise<null>;
}
