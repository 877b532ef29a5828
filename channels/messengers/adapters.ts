/** The adapters of this build, by channel. Each is imported when an account of it is used. */
import type { ChannelAdapter } from './adapter.ts';

export type AdapterTable = Readonly<Record<string, () => Promise<ChannelAdapter>>>;

export const ADAPTERS: AdapterTable = {
  telegram: async () => (await import('./telegram/adapter.ts')).telegram,
  discord: async () => (await import('./discord/adapter.ts')).discord,
  webhook: async () => (await import('./webhook/adapter.ts')).adapter,
};
