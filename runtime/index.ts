/** The public interface of the runtime for actors, channels and the composition root. */
export { defineActor, type ActorDefinition, type ActorOptions } from './actor/define-actor.ts';
export type { EffectContext, EffectDefinition, TranscriptReader } from './actor/effect.ts';
export { pathsBelow } from './workspaces/list-folder.ts';
export { isAbsent, type Peeked, peekFolder } from './workspaces/peek.ts';
export type { Clock } from './clock/clock.ts';
export { systemClock } from './clock/clock.ts';
export { clockFault, clockStatus } from './clock/clock-watch.ts';
export { createSystem } from './create-system.ts';
export type { Store, SystemOptions } from './system-options.ts';
export type * from './system.ts';
export type * from './erasing-port.ts';
export type * from './retaining-port.ts';
export { AcceptFirst } from './log/accept-first.ts';
export { embeddedBlobsFolder, openEmbedded, type Ports } from './embedded.ts';
export {
  type Artifact,
  type ArtifactRef,
  type Artifacts,
  ARTIFACT_BYTES_MAX,
} from './artifacts/artifacts.ts';
export type { PublicMessage, Pubsub } from './pubsub/pubsub.ts';
export { createMetrics, type Metrics } from './observe/metrics.ts';
export { wantsOpenMetrics } from './observe/open-metrics.ts';
export {
  chatSpan,
  inSpan,
  recordServed,
  toolSpan,
  traceFields,
  usageAttributes,
} from './observe/spans.ts';
export { askOrThrow } from './ask-or-throw.ts';
export { storableError } from './shard/turn/validate-message.ts';
export { LruMap } from './lru-map.ts';
export { schemaCheck, type SchemaCheck, schemaComplaint } from './json-schema/outside-schemas.ts';
export type { PlacementEvent } from './cluster/placement.ts';
export { openNamedStateCache, openStateCache } from './state/lmdb-cache.ts';
export type { NatsPorts } from './cluster/nats-ports.ts';
export { openNats } from './cluster/open-nats.ts';
export { exportBare } from './statechart/export.ts';
