/** The state of a plugin in one process of troupe, as operators see it. */
import { type Static, Type } from '@sinclair/typebox';

/**
 * `disabled`: by the configuration. `invalid`: it cannot start before its files or its entry of the
 * configuration are corrected. `circuit-open`: it failed too often, and starts again later.
 */
export const PLUGIN_STATES = [
  'disabled',
  'invalid',
  'stopped',
  'starting',
  'running',
  'backing-off',
  'circuit-open',
] as const;
export type PluginState = (typeof PLUGIN_STATES)[number];

const names = Type.Array(Type.String());

export const PluginRowSchema = Type.Object({
  id: Type.String(),
  version: Type.Optional(Type.String()),
  state: Type.Union(PLUGIN_STATES.map((state) => Type.Literal(state))),
  /** since when it has been in this state, epoch milliseconds */
  since: Type.Integer(),
  /** starts after the first one, of this process of troupe */
  restarts: Type.Integer(),
  lastError: Type.Optional(Type.Object({ at: Type.Integer(), message: Type.String() })),
  /** epoch milliseconds */
  nextStartAt: Type.Optional(Type.Integer()),
  /** private memory of its process */
  memoryBytes: Type.Optional(Type.Integer()),
  tools: names,
  hooks: names,
  providers: names,
  channels: names,
});
export type PluginRow = Static<typeof PluginRowSchema>;
