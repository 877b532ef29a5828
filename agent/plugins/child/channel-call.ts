/**
 * Runs a call of a channel of a plugin: a connection of an account, or one request to the service.
 */
import type {
  CallContext,
  ChannelConnection,
  ChannelFilePiece,
  ChannelPiece,
  PluginAccount,
  PluginChannel,
} from '../plugin-sdk.ts';

/** What troupe asks a channel to do. */
export type ChannelInput =
  | {
      readonly op: 'start';
      readonly account: PluginAccount;
      readonly position?: unknown;
      readonly identity?: string;
    }
  | {
      readonly op: 'send' | 'reconcile' | 'edit';
      readonly account: PluginAccount;
      readonly piece: ChannelPiece & { readonly messageId: string };
    }
  | {
      readonly op: 'sendFile';
      readonly account: PluginAccount;
      readonly piece: ChannelFilePiece;
    }
  | {
      readonly op: 'typing';
      readonly account: PluginAccount;
      readonly chat: Parameters<ChannelConnection['typing']>[0];
    }
  | {
      readonly op: 'download';
      readonly account: PluginAccount;
      readonly media: Parameters<NonNullable<PluginChannel['download']>>[1];
    };

/** @param ask sends an event of a connection, and resolves with the reply */
export function channelCall(
  channel: PluginChannel,
  input: ChannelInput,
  context: CallContext,
  ask: (event: unknown) => Promise<void>,
): unknown {
  const { account } = input;
  switch (input.op) {
    case 'start':
      return channel.start(account, connectionOf(input, context, ask), context);
    case 'send':
      return channel.send(account, input.piece, context);
    case 'sendFile':
      return channel.sendFile?.(account, input.piece, context);
    case 'reconcile':
      return channel.reconcile?.(account, input.piece, context);
    case 'edit':
      return channel.edit?.(account, input.piece, context);
    case 'typing':
      return channel.typing?.(account, input.chat, context);
    case 'download':
      return channel.download?.(account, input.media, context);
  }
}

const connectionOf = (
  { position, identity }: Extract<ChannelInput, { op: 'start' }>,
  { signal }: CallContext,
  ask: (event: unknown) => Promise<void>,
): ChannelConnection => ({
  position,
  identity,
  signal,
  connected: (as, name) => ask({ type: 'connected', identity: as, name }),
  messages: (messages) => ask({ type: 'messages', messages }),
  setPosition: (next) => ask({ type: 'position', position: next }),
  typing: (chat) => void ask({ type: 'typing', chat }).catch(() => {}),
});
