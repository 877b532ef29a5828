/** What the effects of channels and chats use: the connections of this process. */
import type { ConnectInput, ConnectOutput, SendOutcome } from '../../protocols/channel.ts';
import type { EffectContext } from '../../runtime/index.ts';
import type {
  EditInput,
  FollowInput,
  FollowOutput,
  PrepareInput,
  PrepareOutput,
  SendInput,
  SendOutput,
} from './types.ts';

export interface ChannelEffects {
  /** Ends with the connection. */
  connect(input: ConnectInput, context: EffectContext): Promise<ConnectOutput>;
  prepare(input: PrepareInput, context: EffectContext): Promise<PrepareOutput>;
  /** One request to the service. Never throws. */
  send(input: SendInput, signal: AbortSignal): Promise<SendOutput>;
  /** What happened to a piece whose outcome is unknown. `not_sent`: it may be sent again. */
  reconcile(input: SendInput, signal: AbortSignal): Promise<SendOutcome>;
  follow(input: FollowInput, signal: AbortSignal): Promise<FollowOutput>;
  edit(input: EditInput, signal: AbortSignal): Promise<null>;
}

export type ChannelServices = { readonly channels: ChannelEffects };

export const channelsOf = ({ services }: Pick<EffectContext, 'services'>): ChannelEffects =>
  (services as ChannelServices).channels;
