/** The form of a hook file: `import { defineHooks } from 'troupe/hooks'`. */
import type { HookHandlers } from './hooks.ts';

/** The default export of a hook file. */
export type HookModule = {
  /** small letters, digits, `-` and `_`; unique; `hooks.disabled` lists these names */
  readonly name: string;
  /** lower runs first; default 0; ties are ordered by file name */
  readonly priority?: number;
  readonly hooks: HookHandlers;
};

/**
 * Returns its argument; it exists so that editors and compilers check events and results.
 *
 * @example
 * ```ts
 * import { defineHooks } from 'troupe/hooks';
 *
 * const guard = defineHooks({
 *   name: 'guard',
 *   hooks: {
 *     before_tool_call: ({ name }) => (name === 'exec' ? { block: 'not here' } : undefined),
 *   },
 * });
 * assert.equal(guard.name, 'guard');
 * ```
 */
export const defineHooks = (module: HookModule): HookModule => module;
