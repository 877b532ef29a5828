/**
 * `import ... from 'troupe'`: durable actors in a program of your own, on one computer or in a
 * cluster.
 *
 * Boundary: re-exports only. It loads no assistant platform; that is `troupe/agents`.
 */
export {
  type ActorDefinition,
  type ActorOptions,
  defineActor,
} from '../runtime/actor/define-actor.ts';
export type { EffectContext, EffectDefinition, TranscriptReader } from '../runtime/actor/effect.ts';
export { createSystem } from '../runtime/create-system.ts';
export type { Store, SystemOptions } from '../runtime/system-options.ts';
export { type EmbeddedOptions, openEmbedded, type Ports } from '../runtime/embedded.ts';
export { type ClusterPorts, openCluster, type OpenClusterOptions } from './open-cluster.ts';
export { type Clock, systemClock } from '../runtime/clock/clock.ts';
export type * from '../runtime/system.ts';
export {
  type Address,
  address,
  type AddressParts,
  DEFAULT_TENANT,
  parseAddress,
} from '../protocols/address.ts';
export {
  type ActorInput,
  type Append,
  type DeadLetterAsk,
  type Delivered,
  effect,
  type HostActionName,
  hostActions,
  type Lane,
  type Message,
  type Meta,
  type Project,
  type Publish,
  type Reply,
  type ReplyRef,
  type StateMeta,
  type Tell,
  wallOf,
} from '../protocols/statechart.ts';
export { type ErrorCode, type ErrorData, errorData, TroupeError } from '../protocols/errors.ts';
export {
  ROOT,
  type Strategy,
  type SupervisorRow,
  type SupervisorStart,
} from '../protocols/supervision.ts';
export { supervisorAddress } from '../actors/addresses.ts';
export { supervisionActors } from '../actors/supervision-actors.ts';
