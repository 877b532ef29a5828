/**
 * The actors that supervise others: the root of a tenant, and supervisors with children. The
 * settings belong to the root, which reports changes of agents to them.
 */
import { type ActorDefinition, defineActor } from '../runtime/index.ts';
import { settingsMachine } from './settings/machine.ts';
import { rootMachine } from './root/machine.ts';
import { withPlacement } from './root/migrate.ts';
import { supervisorMachine } from './supervisor/machine.ts';

/**
 * The definitions of the types `root`, `supervisor` and `settings`, for `createSystem({ actors,
 * supervisor })`.
 *
 * @example
 * ```ts
 * import { createSystem, openEmbedded, ROOT, supervisionActors } from 'troupe';
 *
 * const path = 'data';
 * const system = await createSystem({
 *   ...(await openEmbedded({ path })),
 *   actors: supervisionActors(),
 *   supervisor: ROOT,
 * });
 * await system.stop();
 * ```
 */
export const supervisionActors = (): ActorDefinition[] => [
  defineActor({
    type: 'root',
    version: 2,
    machine: rootMachine,
    migrate: { 1: withPlacement },
    idleMs: 86_400_000,
  }),
  defineActor({ type: 'supervisor', version: 1, machine: supervisorMachine }),
  // Failed settings resume: a restart would lose the values.
  defineActor({
    type: 'settings',
    version: 1,
    machine: settingsMachine,
    supervision: { onThrow: 'resume' },
  }),
];
