/** Calls hooks: see hooks.ts for the contract of each. */
import type { HookHandlers, Hooks } from './hooks.ts';

/** Handlers of one file or plugin. */
export type HookSource = {
  /** for people: the file, or what the file calls itself */
  readonly name: string;
  /** lower runs first; default 0 */
  readonly priority?: number;
  readonly hooks: HookHandlers;
};
export type HooksOptions = { readonly sources?: readonly HookSource[] };

export const createHooks = (_options: HooksOptions = {}): Hooks => ({
  has: () => false,
  names: () => [],
  run: async () => undefined,
  persisted: ({ result }) => result,
});
