/** The adapters of this build, by channel. Each is imported when an account of it is used. */
import type { ChannelAdapter } from './adapter.ts';

export type AdapterTable = Readonly<Record<string, () => Promise<ChannelAdapter>>>;

export const ADAPTERS: AdapterTable = {
  telegram: async () => (await import('./telegram/adapter.ts')).telegram,
  webhook: async () => (await import('./webhook/adapter.ts')).adapter,
};
