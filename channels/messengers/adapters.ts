/** The adapters of this build, by channel. Each is imported when an account of it is used. */
import type { ChannelAdapter } from './adapter.ts';

export type AdapterTable = Readonly<Record<string, () => Promise<ChannelAdapter>>>;

export const ADAPTERS: AdapterTable = {
  telegram: async () => (await import('./telegram/adapter.ts')).telegram,
  slack: async () => (await import('./slack/adapter.ts')).slack,
  discord: async () => (await import('./discord/adapter.ts')).discord,
  whatsapp: async () => (await import('./whatsapp/adapter.ts')).whatsapp,
  webhook: async () => (await import('./webhook/adapter.ts')).webhook,
};
