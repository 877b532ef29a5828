/** A service as the contract of channels sees it. */
import type { ChannelAdapter } from '../../../channels/messengers/adapter.ts';
import type { ChatRef, InboundMedia } from '../../../protocols/channel.ts';
import type { SentFile } from '../../servers/forms.ts';

/** `before` and `after`: the service has not accepted the message, or has. */
export type SendFault =
  | 'rateLimit'
  | 'errorBefore'
  | 'errorAfter'
  | 'cutBefore'
  | 'cutAfter'
  /** such as a bot that the person blocked */
  | 'refuse';

type Shown = { readonly id: string; readonly text: string; readonly file?: SentFile };

/** One account at a local server; tests act as people and as the service. */
export type Messenger = {
  readonly adapter: ChannelAdapter;
  readonly settings: unknown;
  readonly dm: ChatRef;
  readonly group?: ChatRef;
  /** a topic or thread */
  readonly thread?: ChatRef;
  /** what no error and no log may contain */
  readonly secrets: readonly string[];
  /** milliseconds that a `rateLimit` asks to wait */
  readonly rateLimitMs: number;
  /** A person writes; returns the id of the message in its chat. */
  write(chat: ChatRef, text: string): string;
  /** A person writes and mentions the account. */
  mention?(chat: ChatRef): void;
  /** a message that was not stored may be delivered again after later ones */
  readonly mayReorder?: true;
  /** a process sends only while it has the connection: a second one would end the first */
  readonly needsConnection?: true;
  /** The service delivers the last inbound message once more. */
  redeliver(): void;
  /** What people see from the account in a chat, in order. */
  shown(chat: ChatRef): readonly Shown[];
  failSend(fault: SendFault): void;
  /** Of the request that makes a file visible. */
  failFile(fault: SendFault): void;
  /** The connection ends without a reason that would be final. */
  disconnect?(): void;
  /** The token becomes invalid, and open connections end as the service does it. */
  revoke?(): void;
  /** The pattern of what an operator reads about a revoked token. */
  readonly revoked?: RegExp;
  /** markup that the service refuses */
  readonly unreadable?: string;
  /** A file of an inbound message. */
  addFile?(bytes: Uint8Array): InboundMedia;
  /** Another account at the same server. */
  another(): Messenger;
  close(): Promise<void>;
};
