/** What a file of hooks is: `import { defineHooks } from 'troupe/hooks'`. */
import type { HookHandlers } from './hooks.ts';

/** The default export of a file of hooks. */
export type HookModule = {
  /** small letters, digits, `-` and `_`; unique; what `hooks.disabled` takes */
  readonly name: string;
  /** lower runs first; default 0; equal ones in the order of their files' names */
  readonly priority?: number;
  readonly hooks: HookHandlers;
};

/** The same, with its types: an editor knows each event and each result. */
export const defineHooks = (module: HookModule): HookModule => module;
