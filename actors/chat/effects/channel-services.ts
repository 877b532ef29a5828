/** The connections of this process, for effects. */
import type { ChannelEffects } from '../../../protocols/channel-effects.ts';
import type { EffectContext } from '../../../runtime/index.ts';

export type ChannelServices = { readonly channels: ChannelEffects };

export const channelsOf = ({ services }: Pick<EffectContext, 'services'>): ChannelEffects =>
  (services as ChannelServices).channels;
